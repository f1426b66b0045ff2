create or replace function dotq.fn_job_drop(p_job dotq.job_queue, p_error text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_now timestamptz := dotq.fn_clock_now();
begin
    update dotq.job_queue
    set state = 'cancelled',
        finished_at = l_now,
        lease_owner = null,
        lease_until = null,
        cancel_requested_at = coalesce(p_job.cancel_requested_at, l_now),
        cancel_requested_by = p_job.cancel_requested_by,
        crash_count = p_job.crash_count,
        key_retained = false,
        last_error = p_error,
        updated_at = l_now
    where job_id = p_job.job_id;
end
$fn$;

comment on function dotq.fn_job_drop is 'End a job, whose row the caller has locked, as cancelled. Its key is free again, also in a kind that retains keys.';
revoke all on function dotq.fn_job_drop from public;
