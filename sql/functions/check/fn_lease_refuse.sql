-- Called only after an update found no row: the reason is looked up when it is needed, not on every call.
create or replace function dotq.fn_lease_refuse(p_job_id uuid, p_lease text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job record;
begin
    if p_job_id is null then
        raise exception 'job_id: is required' using errcode = '22023';
    end if;

    select state, lease_owner into l_job from dotq.job_queue where job_id = p_job_id;

    if not found then
        raise exception 'job % does not exist', p_job_id using errcode = 'JQ002';
    elsif l_job.lease_owner is null then
        raise exception 'the lease % on job % is not current: the job is %', quote_literal(dotq.fn_text_line(p_lease)), p_job_id, l_job.state
            using errcode = 'JQ003', hint = 'Drop the result: another worker has the job or will get it, or it has ended.';
    end if;

    raise exception 'the lease % on job % is not current: it is held by %',
        quote_literal(dotq.fn_text_line(p_lease)), p_job_id,
        concat_ws(' ', l_job.lease_owner, case when split_part(p_lease, '#', 1) = l_job.lease_owner then 'under a newer lease' end)
        using errcode = 'JQ003', hint = 'Drop the result: another worker has the job.';
end
$fn$;

comment on function dotq.fn_lease_refuse is
'Say why a lease does not count. Always raises: 22023 (no job id), JQ002 (no such job), JQ003 (the lease is not current).';
revoke all on function dotq.fn_lease_refuse from public;
