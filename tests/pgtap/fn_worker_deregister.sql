begin;
select plan(12);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_worker_register('w1', 'host-a', 4);
select dotq.fn_worker_register('w2', 'host-a', 4);
select dotq.fn_leader_acquire('maintenance', 'w1', 60);
select dotq.fn_leader_acquire('reports', 'w1', 5);
select dotq.fn_leader_acquire('sweeps', 'w2', 60);
insert into dotq.job_queue (
    job_kind, state, idempotency_key, actor, attempts, lease_owner, lease_until, lease_token, lease_seconds, picked_at, finished_at
)
values
    ('mail', 'leased', 'k1', 'test', 1, 'w1', '2030-01-01 12:05:00+00', 1, 300, '2030-01-01 12:00:00+00', null),
    ('mail', 'in_progress', 'k2', 'test', 1, 'w1', '2030-01-01 12:05:00+00', 2, 300, '2030-01-01 12:00:00+00', null),
    ('mail', 'leased', 'k3', 'test', 1, 'w2', '2030-01-01 12:05:00+00', 3, 300, '2030-01-01 12:00:00+00', null),
    ('mail', 'queued', 'k4', 'test', 0, null, null, null, null, null, null),
    ('mail', 'succeeded', 'k5', 'test', 1, null, null, 4, 300, '2030-01-01 11:00:00+00', '2030-01-01 11:01:00+00');

set local test.clock = '2030-01-01 12:00:10+00';
select is(
    dotq.fn_worker_deregister('w1'),
    '{"ok": true, "worker_id": "w1", "was_registered": true, "leases_held": 2}',
    'the answer says that the worker was registered and how many leases it still holds'
);
select results_eq(
    $$ select worker_id::text from dotq.queue_worker order by 1 $$, array['w2'], 'the worker is off the list, and no other'
);
select results_eq(
    $$ select duty::text, worker_id::text, term, leader_until from dotq.queue_leader order by 1 $$,
    $$ values
        ('maintenance', 'w1', 1::bigint, timestamptz '2030-01-01 12:00:10+00'),
        ('reports', 'w1', 1, '2030-01-01 12:00:05+00'),
        ('sweeps', 'w2', 1, '2030-01-01 12:01:00+00') $$,
    'it gives up the duties it leads at once; what had ended, and what others lead, stays as it was'
);
select is(
    dotq.fn_leader_acquire('maintenance', 'w2', 30) - 'leader_until',
    '{"ok": true, "duty": "maintenance", "is_leader": true, "leader": "w2", "term": 2}',
    'another worker can lead at once, in a higher term'
);
select results_eq(
    $$ select idempotency_key, state::text, lease_owner, lease_until from dotq.job_queue where lease_owner = 'w1' order by 1 $$,
    $$ values
        ('k1', 'leased', 'w1', timestamptz '2030-01-01 12:05:00+00'),
        ('k2', 'in_progress', 'w1', '2030-01-01 12:05:00+00') $$,
    'leases it still holds stay until released or run out'
);
select is(
    dotq.fn_worker_deregister('w1'),
    '{"ok": true, "worker_id": "w1", "was_registered": false, "leases_held": 2}',
    'a worker that is not on the list is told so, not refused'
);

-- What is refused.
select throws_ok($$ select dotq.fn_worker_deregister(null) $$, '22023', null, 'a worker id is required');
select throws_ok($$ select dotq.fn_worker_deregister('') $$, '22023', null, 'a worker id must not be blank');
select throws_ok($$ select dotq.fn_worker_deregister('w#1') $$, '22023', null, 'a worker id with # is refused');
select throws_ok($$ select dotq.fn_worker_deregister(repeat('w', 201)) $$, '22023', null, 'a worker id has at most 200 characters');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_worker_deregister'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_worker_deregister', 'it runs with the rights of the owner');

select * from finish();
rollback;
