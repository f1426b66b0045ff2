begin;
select plan(7);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.drop_job(p_key text, p_changes jsonb, p_error text)
returns void
language sql
as $fn$
select dotq.fn_job_drop(jsonb_populate_record(q, p_changes), p_error) from dotq.job_queue as q where q.idempotency_key = p_key
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_drop'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_drop'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select pg_temp.leased('asked');
update dotq.job_queue
set cancel_requested_at = '2030-01-01 11:00:00+00', cancel_requested_by = 'bob', result = '1', progress = '2', started_at = picked_at
where idempotency_key = 'asked';
select pg_temp.remember('asked');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select pg_temp.drop_job('asked', '{"crash_count": 3}', 'enough');
select is(
    pg_temp.job('asked'),
    pg_temp.was('asked') || '{
        "state": "cancelled", "finished_at": "2030-01-01T12:00:10+00:00", "lease_owner": null, "lease_until": null,
        "crash_count": 3, "last_error": "enough", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job ends as cancelled; who asked for it and when stays known'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');

select pg_temp.waiting('waiting');
select pg_temp.drop_job('waiting', '{"cancel_requested_by": "cid"}', 'cancelled by cid');
select is(
    pg_temp.job('waiting'),
    pg_temp.was('waiting') || '{
        "state": "cancelled", "finished_at": "2030-01-01T12:00:10+00:00", "cancel_requested_at": "2030-01-01T12:00:10+00:00",
        "cancel_requested_by": "cid", "last_error": "cancelled by cid", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'a job that was not asked before counts as asked at its end, by whom the given row names'
);
select is_empty($$select * from dotq.job_dead_letter$$, 'a cancelled job is no dead letter');

select dotq.fn_kind_set('kept', '{"dedupe": "retained"}', 'test');
select pg_temp.waiting('kept');
select pg_temp.drop_job('kept', '{}', 'enough');
select is(
    dotq.fn_job_enqueue('kept', 'test', 'kept') -> 'duplicate', 'false', 'the key of a cancelled job is free, also in a kind that retains keys'
);

select * from finish();
rollback;
