begin;
select plan(7);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.requeue(p_key text, p_changes jsonb, p_state text, p_delay interval, p_error text)
returns timestamptz
language sql
as $fn$
select dotq.fn_job_requeue(jsonb_populate_record(q, p_changes), p_state, p_delay, p_error) from dotq.job_queue as q where q.idempotency_key = p_key
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_requeue'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_requeue'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select pg_temp.leased('mine');
update dotq.job_queue set last_error = 'earlier', progress = '1', checkpoint = '2' where idempotency_key = 'mine';
select pg_temp.remember('mine');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select is(
    pg_temp.requeue('mine', '{"attempts": 4, "crash_count": 2}', 'retry_waiting', '90 s', 'boom'), '2030-01-01 12:01:40+00'::timestamptz,
    'it answers when the job will be due'
);
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine') || '{
        "state": "retry_waiting", "scheduled_at": "2030-01-01T12:01:40+00:00", "attempts": 4, "crash_count": 2, "lease_owner": null,
        "lease_until": null, "lease_token": null, "last_error": "boom", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job waits, free of its lease, with the counters of the given row; the rest stays'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');

select pg_temp.leased('again');
update dotq.job_queue set last_error = 'earlier' where idempotency_key = 'again';
select is(pg_temp.requeue('again', '{}', 'queued', '0', null), '2030-01-01 12:00:10+00'::timestamptz, 'without a delay it is due now');
select is(
    jsonb_build_array(pg_temp.job('again') -> 'state', pg_temp.job('again') -> 'scheduled_at', pg_temp.job('again') -> 'last_error'),
    '["queued", "2030-01-01T12:00:10+00:00", "earlier"]',
    'and without an error it keeps the one it had'
);

select * from finish();
rollback;
