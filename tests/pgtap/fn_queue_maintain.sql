begin;
select plan(15);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_kind_set('mail', '{}', 'test');
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, attempts, lease_owner, lease_until, lease_token, lease_seconds)
select 'mail', 'leased', 'k' || n, 'test', 1, 'gone', '2030-01-01 11:59:00+00', n, 300 from generate_series(1, 1001) as n;
insert into dotq.queue_worker (worker_id, hostname, pool_size, last_heartbeat_at)
values
    ('leader', 'h', 1, '2030-01-01 11:00:00+00'),
    ('gone', 'h', 1, '2030-01-01 11:57:59.999999+00'),
    ('at the limit', 'h', 1, '2030-01-01 11:58:00+00'),
    ('fresh', 'h', 1, '2030-01-01 12:00:00+00');

-- Another worker leads.
select dotq.fn_leader_acquire('maintenance', 'other', 10);
select is(
    dotq.fn_queue_maintain('leader'),
    '{"ok": true, "ran": false, "leader": "other", "term": 1}',
    'a worker that does not lead does nothing, and learns who does'
);
select is((select count(*) from dotq.queue_worker), 4::bigint, 'a worker that does not lead removes nobody');
select is((select count(*) from dotq.job_queue where state = 'leased'), 1001::bigint, 'a worker that does not lead takes no lease back');

-- Nobody leads any more.
set local test.clock = '2030-01-01 12:00:10+00';
update dotq.queue_worker set last_heartbeat_at = last_heartbeat_at + interval '10 s';
select is(
    dotq.fn_queue_maintain('leader'),
    '{"ok": true, "ran": true, "leader": "leader", "term": 2, "workers_removed": 1,
      "reap": {"ok": true, "reaped": 1000, "requeued": 1000, "dead_lettered": 0, "held": 0, "cancelled": 0, "reason": null}}',
    'a worker that can take the duty over does: it removes workers and takes leases back, a bounded number at a time'
);
select results_eq(
    $$ select worker_id::text from dotq.queue_worker order by 1 $$,
    array['at the limit', 'fresh', 'leader'],
    'only a worker that was not heard of for longer than the timeout is removed, and never the one that asks'
);
select is(
    (select jsonb_build_array(worker_id, term, leader_until) from dotq.queue_leader where duty = 'maintenance'),
    jsonb_build_array('leader', 2, timestamptz '2030-01-01 12:00:40+00'),
    'the duty is led for 30 seconds'
);
select is((select count(*) from dotq.job_queue where state = 'queued'), 1000::bigint, 'what the answer counts has happened');
select is(
    dotq.fn_queue_maintain('leader') #- '{reap,reason}',
    '{"ok": true, "ran": true, "leader": "leader", "term": 2, "workers_removed": 0,
      "reap": {"ok": true, "reaped": 1, "requeued": 1, "dead_lettered": 0, "held": 0, "cancelled": 0}}',
    'run again, it does what is left and keeps its term'
);

-- The timeout is a setting; the reaper keeps to its gate.
select dotq.fn_config_set('queue.worker.timeout_sec', '119', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(
    dotq.fn_queue_maintain('leader'),
    '{"ok": true, "ran": true, "leader": "leader", "term": 2, "workers_removed": 1,
      "reap": {"ok": true, "reaped": 0, "reason": "gate_closed: queue.job_substrate.enabled"}}',
    'with the master gate closed workers are still removed, as the setting says, and no lease is taken back'
);

-- What is refused.
select throws_ok($$ select dotq.fn_queue_maintain(null) $$, '22023', null, 'a worker id is required');
select throws_ok($$ select dotq.fn_queue_maintain(' ') $$, '22023', null, 'a worker id must not be blank');
select throws_ok($$ select dotq.fn_queue_maintain('a#1') $$, '22023', null, 'a worker id with # is refused');
select throws_ok($$ select dotq.fn_queue_maintain(repeat('w', 201)) $$, '22023', null, 'a worker id has at most 200 characters');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_queue_maintain'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_queue_maintain', 'it runs with the rights of the owner');

select * from finish();
rollback;
