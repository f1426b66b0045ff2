begin;
select plan(17);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_kind_set('crash.retry', '{}', 'test');
select dotq.fn_kind_set('crash.bury', '{"on_crash": "dead_letter"}', 'test');
select dotq.fn_kind_set('crash.hold', '{"on_crash": "hold"}', 'test');

insert into dotq.job_queue (
    job_kind, state, idempotency_key, actor, attempts, cancel_requested_at, cancel_requested_by, lease_owner, lease_until,
    lease_token, lease_seconds, picked_at
)
select kind, state, key, 'test', 1, cancelled_at, case when cancelled_at is not null then 'ann' end, 'w1', lease_until,
    row_number() over (order by key), 300, '2030-01-01 11:00:00+00'
from (
    values
        ('crash.retry', 'leased', 'a: expired', timestamptz '2030-01-01 11:59:56+00', null::timestamptz),
        ('crash.retry', 'in_progress', 'b: expired', '2030-01-01 11:59:57+00', null),
        ('crash.bury', 'leased', 'c: expired', '2030-01-01 11:59:58+00', null),
        ('crash.hold', 'leased', 'd: expired', '2030-01-01 12:00:00+00', null),
        ('crash.retry', 'leased', 'e: expired, to be cancelled', '2030-01-01 11:59:59+00', '2030-01-01 11:59:30+00'),
        ('crash.retry', 'leased', 'f: overdue', '2030-01-01 12:04:00+00', '2030-01-01 11:50:00+00'),
        ('crash.retry', 'in_progress', 'g: just overdue', '2030-01-01 12:04:00+00', '2030-01-01 11:59:00+00'),
        ('crash.retry', 'in_progress', 'h: not yet overdue', '2030-01-01 12:04:00+00', '2030-01-01 11:59:00.000001+00'),
        ('crash.retry', 'leased', 'i: running', '2030-01-01 12:00:00.000001+00', null)
) as made (kind, state, key, lease_until, cancelled_at);
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, finished_at, cancel_requested_at, cancel_requested_by)
values
    ('crash.retry', 'cancelled', 'j: cancelled before', 'test', '2030-01-01 11:00:00+00', '2030-01-01 11:00:00+00', 'bob'),
    ('crash.retry', 'queued', 'k: waiting', 'test', null, null, null);
update dotq.job_queue set last_error = 'cancelled by ann: too late' where cancel_requested_by is not null;
create temp table before as select to_jsonb(q) as job from dotq.job_queue as q;

-- The master gate.
update dotq.dot_config set value = 'false' where key = 'queue.job_substrate.enabled';
select is(
    dotq.fn_queue_reap(100),
    '{"ok": true, "reaped": 0, "reason": "gate_closed: queue.job_substrate.enabled"}',
    'while the master gate is closed nothing is reaped, and the answer says so'
);
select bag_eq(
    $$ select to_jsonb(q) from dotq.job_queue as q $$, $$ select job from before $$, 'while the master gate is closed no job changes'
);

-- Opened by hand without the trigger, which would give every lease its full length again.
alter table dotq.dot_config disable trigger tr_dot_config_changed;
update dotq.dot_config set value = 'true' where key = 'queue.job_substrate.enabled';
alter table dotq.dot_config enable trigger tr_dot_config_changed;

select is(
    dotq.fn_queue_reap(1),
    '{"ok": true, "reaped": 2, "requeued": 1, "dead_lettered": 0, "held": 0, "cancelled": 1, "reason": null}',
    'at most limit leases are taken back, and at most limit overdue cancels are forced'
);
select is(
    dotq.fn_queue_reap(),
    '{"ok": true, "reaped": 5, "requeued": 1, "dead_lettered": 1, "held": 1, "cancelled": 2, "reason": null}',
    'the answer counts every end, and the sum of them'
);
select results_eq(
    $$ select idempotency_key, state::text from dotq.job_queue order by 1 $$,
    $$ values
        ('a: expired', 'queued'), ('b: expired', 'queued'), ('c: expired', 'dead_letter'), ('d: expired', 'failed'),
        ('e: expired, to be cancelled', 'cancelled'), ('f: overdue', 'cancelled'), ('g: just overdue', 'cancelled'),
        ('h: not yet overdue', 'in_progress'), ('i: running', 'leased'), ('j: cancelled before', 'cancelled'), ('k: waiting', 'queued') $$,
    'a cancel is forced exactly at the end of its grace; a job that runs, waits or has ended stays'
);
select is(
    (select jsonb_build_array(last_error, lease_owner, lease_until, finished_at, crash_count) from dotq.job_queue where idempotency_key = 'f: overdue'),
    jsonb_build_array('cancelled by ann: too late; worker w1 was fenced off', null, null, timestamptz '2030-01-01 12:00:00+00', 0),
    'a forced cancel says who asked for it, why, and which worker was fenced off, and is no crash'
);
select bag_eq(
    $$ select to_jsonb(q) from dotq.job_queue as q where idempotency_key ~ '^[h-k]' $$,
    $$ select job from before where job ->> 'idempotency_key' ~ '^[h-k]' $$,
    'what is not due is not touched'
);
select is(
    dotq.fn_queue_reap(100),
    '{"ok": true, "reaped": 0, "requeued": 0, "dead_lettered": 0, "held": 0, "cancelled": 0, "reason": null}',
    'running it twice does nothing twice'
);

-- The grace is a setting.
select dotq.fn_config_set('queue.cancel.grace_sec', '0', 'test');
select is(dotq.fn_queue_reap(100) -> 'cancelled', '1', 'with no grace a cancel is forced at once');

-- How many by default.
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, attempts, lease_owner, lease_until, lease_token, lease_seconds)
select 'crash.retry', 'leased', 'm' || n, 'test', 1, 'w2', '2030-01-01 11:00:00+00', 1000 + n, 300 from generate_series(1, 101) as n;
select is(dotq.fn_queue_reap() -> 'reaped', '100', 'without a limit at most 100 are taken back');

-- What is refused.
select throws_ok($$ select dotq.fn_queue_reap(null) $$, '22023', null, 'a null limit is refused');
select throws_ok($$ select dotq.fn_queue_reap(0) $$, '22023', null, 'a limit of 0 is refused');
select throws_ok($$ select dotq.fn_queue_reap(-1) $$, '22023', null, 'a negative limit is refused');
select throws_ok($$ select dotq.fn_queue_reap(10001) $$, '22023', null, 'a limit over 10000 is refused');
select is(dotq.fn_queue_reap(10000) -> 'reaped', '1', 'a limit of 10000 is taken');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_queue_reap'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_queue_reap', 'it runs with the rights of the owner');

select * from finish();
rollback;
