create or replace function dotq.fn_job_get(p_job_id uuid)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job jsonb;
begin
    if p_job_id is null then
        raise exception 'job_id: is required' using errcode = '22023';
    end if;

    select to_jsonb(q) || jsonb_build_object(
        'lease', q.lease_owner || '#' || q.lease_token,
        'dead_letter_id', (select dead_letter_id from dotq.job_dead_letter as d where d.job_id = q.job_id),
        'replayed_as', (select replayed_as from dotq.job_dead_letter as d where d.job_id = q.job_id)
    )
    into l_job
    from dotq.job_queue as q
    where q.job_id = p_job_id;

    if l_job is null then
        raise exception 'job % does not exist', p_job_id using errcode = 'JQ002';
    end if;

    return l_job;
end
$fn$;

comment on function dotq.fn_job_get is
'One job with all its columns, its lease handle and its dead letter. Raises 22023 (no id), JQ002 (no such job).';
revoke all on function dotq.fn_job_get from public;
grant execute on function dotq.fn_job_get to dotq_producer, dotq_worker, dotq_operator;
