create or replace function dotq.fn_job_lock(p_job_id uuid, p_lease text)
returns dotq.job_queue
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_lease record;
    l_job dotq.job_queue;
begin
    l_lease := dotq.fn_lease_parse(p_lease);
    select * into l_job from dotq.job_queue where job_id = p_job_id for update;

    if l_job.lease_owner is distinct from l_lease.owner
        or l_lease.token is not null and l_job.lease_token is distinct from l_lease.token then
        perform dotq.fn_lease_refuse(p_job_id, p_lease);
    end if;

    return l_job;
end
$fn$;

comment on function dotq.fn_job_lock is
'Lock a job for the holder of its lease, until the transaction ends. Raises 22023 (malformed lease), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_lock from public;
