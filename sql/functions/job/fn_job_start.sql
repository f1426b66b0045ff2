create or replace function dotq.fn_job_start(p_job_id uuid, p_lease text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_lease record;
    l_job record;
    l_now timestamptz := dotq.fn_clock_now();
begin
    l_lease := dotq.fn_lease_parse(p_lease);

    update dotq.job_queue
    set state = 'in_progress',
        started_at = coalesce(started_at, l_now),
        updated_at = l_now
    where job_id = p_job_id
      and lease_owner = l_lease.owner
      and (l_lease.token is null or lease_token = l_lease.token)
    returning state, lease_until, cancel_requested_at is not null as cancel_requested into l_job;

    if not found then
        perform dotq.fn_lease_refuse(p_job_id, p_lease);
    end if;

    return jsonb_build_object(
        'ok', true, 'job_id', p_job_id, 'state', l_job.state, 'lease_until', l_job.lease_until, 'cancel_requested', l_job.cancel_requested
    );
end
$fn$;

comment on function dotq.fn_job_start is
'Mark a leased job as being worked on. May be called again. Raises 22023 (malformed lease), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_start from public;
grant execute on function dotq.fn_job_start to dotq_worker, dotq_operator;
