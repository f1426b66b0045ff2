begin;
select plan(10);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('crash.retry', '{"on_crash": "retry", "backoff_base_sec": 60}', 'test');
select dotq.fn_kind_set('crash.limit', '{"on_crash": "retry", "crash_limit": 2}', 'test');
select dotq.fn_kind_set('crash.bury', '{"on_crash": "dead_letter"}', 'test');
select dotq.fn_kind_set('crash.hold', '{"on_crash": "hold"}', 'test');

insert into dotq.job_queue (
    job_kind, state, idempotency_key, actor, attempts, max_attempts, crash_count, cancel_requested_at, cancel_requested_by,
    last_error, lease_owner, lease_until, lease_token, lease_seconds, picked_at
)
select kind, 'leased', key, 'test', attempts, max_attempts, crashes, cancelled_at, case when cancelled_at is not null then 'ann' end,
    case when cancelled_at is null then 'an older error' else 'cancelled by ann: too late' end, 'w1', '2030-01-01 12:00:00+00', row_number() over (order by key), 300, '2030-01-01 11:55:00+00'
from (
    values
        ('crash.retry', 'first', 1, 3, 0, null::timestamptz),
        ('crash.retry', 'last but one', 2, 3, 1, null),
        ('crash.retry', 'last', 3, 3, 2, null),
        ('crash.limit', 'under the limit', 1, 9, 0, null),
        ('crash.limit', 'at the limit', 2, 9, 1, null),
        ('crash.limit', 'over the limit', 3, 9, 2, null),
        ('crash.bury', 'never again', 1, 9, 0, null),
        ('crash.hold', 'unknown', 1, 9, 0, null),
        ('crash.bury', 'cancelled', 1, 9, 0, '2030-01-01 11:58:00+00'),
        ('crash.hold', 'cancelled, but held', 1, 9, 0, '2030-01-01 11:58:00+00'),
        ('crash.none', 'unregistered', 1, 9, 0, null)
) as made (kind, key, attempts, max_attempts, crashes, cancelled_at);

create temp table outcome as
select idempotency_key as key, dotq.fn_job_crash(q) as state
from dotq.job_queue as q;

select results_eq(
    $$ select key, state from outcome order by key $$,
    $$ values
        ('at the limit', 'dead_letter'), ('cancelled', 'cancelled'), ('cancelled, but held', 'failed'), ('first', 'queued'), ('last', 'dead_letter'),
        ('last but one', 'queued'), ('never again', 'dead_letter'), ('over the limit', 'dead_letter'),
        ('under the limit', 'queued'), ('unknown', 'failed'), ('unregistered', 'queued') $$,
    'the answer is the new state, as attempts, crash limit and policy of the kind decide'
);
select results_eq(
    $$ select idempotency_key, state::text from dotq.job_queue order by 1 $$,
    $$ select key, state from outcome order by key $$,
    'the state that was answered is the state of the job'
);
select results_eq(
    $$ select idempotency_key, crash_count::integer, attempts::integer from dotq.job_queue order by 1 $$,
    $$ values
        ('at the limit', 2, 2), ('cancelled', 1, 1), ('cancelled, but held', 1, 1), ('first', 1, 1), ('last', 3, 3), ('last but one', 2, 2), ('never again', 1, 1),
        ('over the limit', 3, 3), ('under the limit', 1, 1), ('unknown', 1, 1), ('unregistered', 1, 1) $$,
    'a crash is counted, and the attempt that the claim counted is not counted again'
);
select is(
    (select jsonb_build_array(scheduled_at, lease_owner, lease_until, lease_token, finished_at) from dotq.job_queue where idempotency_key = 'first'),
    jsonb_build_array(timestamptz '2030-01-01 12:00:00+00', null, null, null, null),
    'a job that is tried again is due at once and free of its lease'
);
select is(
    (select last_error from dotq.job_queue where idempotency_key = 'first'),
    'lease expired: worker w1 neither finished nor renewed attempt 1 of 3 in time',
    'the job says which worker was lost, in which attempt'
);
select is(
    (select last_error from dotq.job_queue where idempotency_key = 'cancelled'),
    'cancelled by ann: too late; lease expired: worker w1 neither finished nor renewed attempt 1 of 9 in time',
    'a cancelled job says who asked for it, why, and how it ended'
);
select is(
    (select jsonb_build_array(cancel_requested_at, cancel_requested_by, finished_at) from dotq.job_queue where idempotency_key = 'cancelled'),
    jsonb_build_array(timestamptz '2030-01-01 11:58:00+00', 'ann', timestamptz '2030-01-01 12:00:00+00'),
    'a cancelled job keeps when and by whom the cancel was asked for'
);
select results_eq(
    $$ select q.idempotency_key, d.cause, d.moved_by::text, d.crash_count::integer, d.final_error::text
       from dotq.job_dead_letter as d join dotq.job_queue as q using (job_id) order by 1 $$,
    $$ values
        ('at the limit', 'crashed', 'reaper', 2, 'lease expired: worker w1 neither finished nor renewed attempt 2 of 9 in time'),
        ('cancelled, but held', 'unknown_outcome', 'reaper', 1, 'unknown outcome: lease expired: worker w1 neither finished nor renewed attempt 1 of 9 in time'),
        ('last', 'crashed', 'reaper', 3, 'lease expired: worker w1 neither finished nor renewed attempt 3 of 3 in time'),
        ('never again', 'crashed', 'reaper', 1, 'lease expired: worker w1 neither finished nor renewed attempt 1 of 9 in time'),
        ('over the limit', 'crashed', 'reaper', 3, 'lease expired: worker w1 neither finished nor renewed attempt 3 of 9 in time'),
        ('unknown', 'unknown_outcome', 'reaper', 1, 'unknown outcome: lease expired: worker w1 neither finished nor renewed attempt 1 of 9 in time') $$,
    'each job that ended badly, and no other, has a dead letter that says why'
);

-- A helper, closed to everybody.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_job_crash'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_job_crash', 'it runs with the rights of its caller');

select * from finish();
rollback;
