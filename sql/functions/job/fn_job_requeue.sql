-- The lease token goes with the lease: whoever held it must not be taken for the one who finishes the job later.
create or replace function dotq.fn_job_requeue(p_job dotq.job_queue, p_state text, p_delay interval, p_error text)
returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_now timestamptz;
begin
    perform pg_current_xact_id();
    l_now := dotq.fn_clock_now();

    update dotq.job_queue
    set state = p_state,
        scheduled_at = l_now + p_delay,
        attempts = p_job.attempts,
        crash_count = p_job.crash_count,
        lease_owner = null,
        lease_until = null,
        lease_token = null,
        last_error = coalesce(p_error, last_error),
        updated_at = l_now
    where job_id = p_job.job_id;

    return l_now + p_delay;
end
$fn$;

comment on function dotq.fn_job_requeue is
'Make a job, whose row the caller has locked, claimable again after a delay, with the counters of the given row; returns when.';
revoke all on function dotq.fn_job_requeue from public;
