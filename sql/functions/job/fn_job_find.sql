create or replace function dotq.fn_job_find(p_job_id uuid)
returns dotq.job_queue
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job dotq.job_queue;
begin
    if p_job_id is null then
        raise exception 'job_id: is required' using errcode = '22023';
    end if;

    select * into l_job from dotq.job_queue where job_id = p_job_id for update;

    if not found then
        raise exception 'job % does not exist', p_job_id using errcode = 'JQ002';
    end if;

    return l_job;
end
$fn$;

comment on function dotq.fn_job_find is 'Lock a job by its id, until the transaction ends. Raises 22023 (no id), JQ002 (no such job).';
revoke all on function dotq.fn_job_find from public;
