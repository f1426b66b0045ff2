begin;
select plan(10);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

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
        ('crash.retry', 'leased', 'a: hour ago', timestamptz '2030-01-01 11:00:00+00', null::timestamptz),
        ('crash.retry', 'in_progress', 'b: 4 s ago', '2030-01-01 11:59:56+00', null),
        ('crash.bury', 'leased', 'c: 3 s ago', '2030-01-01 11:59:57+00', null),
        ('crash.hold', 'in_progress', 'd: 2 s ago', '2030-01-01 11:59:58+00', null),
        ('crash.retry', 'leased', 'e: 1 s ago', '2030-01-01 11:59:59+00', '2030-01-01 11:59:30+00'),
        ('crash.retry', 'leased', 'f: now', '2030-01-01 12:00:00+00', null),
        ('crash.retry', 'leased', 'g: not yet', '2030-01-01 12:00:00.000001+00', null),
        ('crash.retry', 'in_progress', 'h: not yet', '2030-01-01 12:00:00.000001+00', null)
) as made (kind, state, key, lease_until, cancelled_at)
order by key desc;
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, scheduled_at, finished_at)
values
    ('crash.retry', 'queued', 'i: waiting', 'test', '2030-01-01 11:00:00+00', null),
    ('crash.retry', 'succeeded', 'j: ended', 'test', '2030-01-01 11:00:00+00', '2030-01-01 11:00:00+00');

-- No index lends its order.
drop index dotq.job_queue_lease_until_idx;
select results_eq(
    $$ select * from dotq.fn_lease_expire(1) $$, $$ values (1, 0, 0, 0) $$, 'no more leases are taken back than asked for'
);
select is(
    (select string_agg(idempotency_key, ', ') from dotq.job_queue where crash_count > 0), 'a: hour ago', 'the lease that ran out first is taken back first'
);
select results_eq(
    $$ select * from dotq.fn_lease_expire(100, array['crash.hold', 'other']) $$, $$ values (0, 0, 1, 0) $$, 'of the kinds that are named, when any are'
);
select results_eq(
    $$ select * from dotq.fn_lease_expire(100) $$, $$ values (2, 1, 0, 1) $$, 'it counts what was requeued, buried, held and cancelled'
);
select results_eq(
    $$ select idempotency_key, state::text from dotq.job_queue order by 1 $$,
    $$ values
        ('a: hour ago', 'queued'), ('b: 4 s ago', 'queued'), ('c: 3 s ago', 'dead_letter'), ('d: 2 s ago', 'failed'), ('e: 1 s ago', 'cancelled'),
        ('f: now', 'queued'), ('g: not yet', 'leased'), ('h: not yet', 'in_progress'), ('i: waiting', 'queued'), ('j: ended', 'succeeded') $$,
    'a lease ends exactly at its end, in both states that hold one; every other job stays as it was'
);
select is(
    (select count(*) from dotq.job_queue where idempotency_key ~ '^[g-j]' and crash_count = 0), 4::bigint, 'a job whose lease runs has not crashed'
);
select results_eq(
    $$ select * from dotq.fn_lease_expire(100) $$, $$ values (0, 0, 0, 0) $$, 'a second look finds nothing, and says so'
);

-- A plan made while the queue is empty serves this session for ever, so it must not be one that reads the whole table.
select set_eq(
    $$ select unnest(proconfig) from pg_proc where oid = 'dotq.fn_lease_expire'::regproc $$,
    array['search_path=pg_catalog, pg_temp', 'plan_cache_mode=force_generic_plan', 'enable_seqscan=off'],
    'its plans are generic and never scan the table'
);
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_lease_expire'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_lease_expire', 'it runs with the rights of its caller');

select * from finish();
rollback;
