begin;
select plan(31);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

-- Nobody leads yet.
create temp table answer as select dotq.fn_leader_acquire('maintenance', 'w1', 30) as a;
select is(
    (select a from answer),
    jsonb_build_object(
        'ok', true, 'duty', 'maintenance', 'is_leader', true, 'leader', 'w1', 'term', 1,
        'leader_until', timestamptz '2030-01-01 12:00:30+00'
    ),
    'the first worker to ask leads, in term 1, for as long as it asked'
);
select results_eq(
    $$ select worker_id::text, term, acquired_at, leader_until from dotq.queue_leader where duty = 'maintenance' $$,
    $$ values ('w1', 1::bigint, timestamptz '2030-01-01 12:00:00+00', timestamptz '2030-01-01 12:00:30+00') $$,
    'what was answered is what is stored'
);

-- The lease runs.
set local test.clock = '2030-01-01 12:00:29.999999+00';
select is(
    dotq.fn_leader_acquire('maintenance', 'w2', 30),
    jsonb_build_object(
        'ok', true, 'duty', 'maintenance', 'is_leader', false, 'leader', 'w1', 'term', 1,
        'leader_until', timestamptz '2030-01-01 12:00:30+00'
    ),
    'just before the end another worker is told who leads, in which term, until when'
);
select results_eq(
    $$ select worker_id::text, term, acquired_at, leader_until from dotq.queue_leader where duty = 'maintenance' $$,
    $$ values ('w1', 1::bigint, timestamptz '2030-01-01 12:00:00+00', timestamptz '2030-01-01 12:00:30+00') $$,
    'a worker that does not win changes nothing'
);
set local test.clock = '2030-01-01 12:00:20+00';
select is(
    dotq.fn_leader_acquire('maintenance', 'w1', 40),
    jsonb_build_object(
        'ok', true, 'duty', 'maintenance', 'is_leader', true, 'leader', 'w1', 'term', 1,
        'leader_until', timestamptz '2030-01-01 12:01:00+00'
    ),
    'the leader renews from now on and keeps its term'
);
select results_eq(
    $$ select worker_id::text, term, acquired_at, leader_until from dotq.queue_leader where duty = 'maintenance' $$,
    $$ values ('w1', 1::bigint, timestamptz '2030-01-01 12:00:00+00', timestamptz '2030-01-01 12:01:00+00') $$,
    'a renewal is stored, and keeps the moment at which the leader was elected'
);

-- The lease ends.
set local test.clock = '2030-01-01 12:01:00+00';
select is(
    dotq.fn_leader_acquire('maintenance', 'w2', 10),
    jsonb_build_object(
        'ok', true, 'duty', 'maintenance', 'is_leader', true, 'leader', 'w2', 'term', 2,
        'leader_until', timestamptz '2030-01-01 12:01:10+00'
    ),
    'exactly at the end another worker takes over, in the next term'
);
select results_eq(
    $$ select worker_id::text, term, acquired_at, leader_until from dotq.queue_leader where duty = 'maintenance' $$,
    $$ values ('w2', 2::bigint, timestamptz '2030-01-01 12:01:00+00', timestamptz '2030-01-01 12:01:10+00') $$,
    'the change of hands is stored'
);
select is(
    dotq.fn_leader_acquire('maintenance', 'w1', 10) -> 'is_leader', 'false', 'the worker that was leader before does not lead any more'
);
set local test.clock = '2030-01-01 12:05:00+00';
select is(
    dotq.fn_leader_acquire('maintenance', 'w2', 10) -> 'term', '3', 'a leader that comes back after its time ran out begins a new term'
);

-- Other duties, other lengths.
select is(
    dotq.fn_leader_acquire('reports', 'w1', 10) - 'leader_until',
    '{"ok": true, "duty": "reports", "is_leader": true, "leader": "w1", "term": 1}',
    'each duty has its own leader and its own terms'
);
select is(
    (select worker_id::text from dotq.queue_leader where duty = 'maintenance'), 'w2', 'leading one duty does not touch another'
);
select is(
    (dotq.fn_leader_acquire('defaults', 'w1') ->> 'leader_until')::timestamptz, '2030-01-01 12:05:30+00',
    'without a length a term lasts 30 seconds'
);
select is(
    (dotq.fn_leader_acquire('short', 'w1', 1) ->> 'leader_until')::timestamptz, '2030-01-01 12:05:01+00', 'one second is the shortest'
);
select is(
    (dotq.fn_leader_acquire('long', 'w1', 86400) ->> 'leader_until')::timestamptz, '2030-01-02 12:05:00+00',
    'queue.lease.max_sec is the longest'
);

-- What is refused.
select throws_ok($$ select dotq.fn_leader_acquire(null, 'w1') $$, '22023', 'duty: is required', 'a duty has to be named');
select throws_ok($$ select dotq.fn_leader_acquire(E' \t', 'w1') $$, '22023', null, 'a duty must not be blank');
select throws_ok($$ select dotq.fn_leader_acquire(repeat('d', 201), 'w1') $$, '22023', null, 'a duty has at most 200 characters');
select lives_ok($$ select dotq.fn_leader_acquire(repeat('d', 200), 'w1') $$, 'a duty may have 200 characters');
select throws_ok($$ select dotq.fn_leader_acquire('d', null) $$, '22023', null, 'a worker has to be named');
select throws_ok($$ select dotq.fn_leader_acquire('d', '') $$, '22023', null, 'a worker id must not be blank');
select throws_ok($$ select dotq.fn_leader_acquire('d', 'w#1') $$, '22023', null, 'a worker id with # is refused');
select throws_ok($$ select dotq.fn_leader_acquire('d', repeat('w', 201)) $$, '22023', null, 'a worker id has at most 200 characters');
select throws_ok($$ select dotq.fn_leader_acquire('d', 'w1', null) $$, '22023', 'lease_seconds: null is out of range', 'a null length is refused');
select throws_ok($$ select dotq.fn_leader_acquire('d', 'w1', 0) $$, '22023', null, 'a length of 0 is refused');
select throws_ok($$ select dotq.fn_leader_acquire('d', 'w1', -1) $$, '22023', null, 'a negative length is refused');
select throws_ok($$ select dotq.fn_leader_acquire('d', 'w1', 86401) $$, '22023', null, 'a length over a day is refused');
select dotq.fn_config_set('queue.lease.max_sec', '20', 'test');
select lives_ok($$ select dotq.fn_leader_acquire('other', 'w1') $$, 'how long jobs may be leased does not limit leaders');
select is_empty($$ select from dotq.queue_leader where duty = 'd' $$, 'a refused call elects nobody');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_leader_acquire'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_leader_acquire', 'it runs with the rights of the owner');

select * from finish();
rollback;
