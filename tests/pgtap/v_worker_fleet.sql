begin;
select plan(4);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

insert into dotq.queue_worker (worker_id, hostname, started_at, last_heartbeat_at, pool_size, version, kinds, affinity_keys, metadata)
values
    ('w5', 'host-a', '2030-01-01 10:00:00+00', '2030-01-01 11:58:00+00', 1, null, null, '{}', '{}'),
    ('w4', 'host-a', '2030-01-01 10:00:00+00', '2030-01-01 11:58:00.000001+00', 1, null, null, '{}', '{}'),
    ('w3', 'host-a', '2030-01-01 10:00:00+00', '2030-01-01 11:59:00+00', 1, null, null, '{}', '{}'),
    ('w2', 'host-a', '2030-01-01 10:00:00+00', '2030-01-01 11:59:00.000001+00', 1, null, null, '{}', '{}'),
    ('w1', 'host-a', '2030-01-01 10:00:00+00', '2030-01-01 11:59:30+00', 4, '1.2', array['mail'], array['eu'], '{"zone": "b"}');
insert into dotq.queue_leader (duty, worker_id, term, acquired_at, leader_until)
values
    ('sweeps', 'w1', 1, '2030-01-01 11:00:00+00', '2030-01-01 12:00:00.000001+00'),
    ('maintenance', 'w1', 1, '2030-01-01 11:00:00+00', '2030-01-01 12:00:30+00'),
    ('reports', 'w1', 1, '2030-01-01 11:00:00+00', '2030-01-01 12:00:00+00'),
    ('letters', 'w2', 1, '2030-01-01 11:00:00+00', '2030-01-01 12:00:30+00');
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, lease_owner, lease_until, lease_token, lease_seconds, picked_at, finished_at)
values
    ('mail', 'leased', 'k1', 'test', 'w1', '2030-01-01 12:05:00+00', 1, 300, '2030-01-01 11:50:00+00', null),
    ('mail', 'in_progress', 'k2', 'test', 'w1', '2030-01-01 12:05:00+00', 2, 300, '2030-01-01 11:40:00+00', null),
    ('mail', 'leased', 'k3', 'test', 'w2', '2030-01-01 12:05:00+00', 3, 300, '2030-01-01 11:30:00+00', null),
    ('mail', 'leased', 'k4', 'test', 'gone', '2030-01-01 12:05:00+00', 4, 300, '2030-01-01 11:20:00+00', null),
    ('mail', 'succeeded', 'k5', 'test', null, null, 5, 300, '2030-01-01 11:20:00+00', '2030-01-01 11:21:00+00');
select is(
    (select to_jsonb(f) from dotq.v_worker_fleet as f where worker_id = 'w1'),
    jsonb_build_object(
        'worker_id', 'w1', 'hostname', 'host-a', 'version', '1.2', 'status', 'fresh', 'started_at', timestamptz '2030-01-01 10:00:00+00',
        'last_heartbeat_at', timestamptz '2030-01-01 11:59:30+00', 'seconds_since_heartbeat', 30.000000, 'pool_size', 4, 'leases_held', 2,
        'oldest_picked_at', timestamptz '2030-01-01 11:40:00+00', 'kinds', array['mail'], 'affinity_keys', array['eu'],
        'leads', array['maintenance', 'sweeps']
    ),
    'a worker shows what it takes, the leases it holds, and the duties it still leads'
);
select results_eq(
    $$ select worker_id, status, leases_held, oldest_picked_at, leads from dotq.v_worker_fleet $$,
    $$ values
        ('w1', 'fresh', 2::bigint, timestamptz '2030-01-01 11:40:00+00', array['maintenance', 'sweeps']),
        ('w2', 'fresh', 1, '2030-01-01 11:30:00+00', array['letters']), ('w3', 'warning', 0, null, null),
        ('w4', 'warning', 0, null, null), ('w5', 'stale', 0, null, null) $$,
    'workers are listed by id; silence is a warning from half the timeout on, and stale from the timeout on'
);
select dotq.fn_config_set('queue.worker.timeout_sec', '60', 'test');
select is(
    (select string_agg(status, ' ' order by worker_id) from dotq.v_worker_fleet), 'warning warning stale stale stale', 'the timeout is that of the settings'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_worker_fleet', 'select')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
