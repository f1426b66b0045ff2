create or replace function dotq.fn_job_explain(p_job_id uuid)
returns table (place integer, blocker text, detail text, remedy text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_job dotq.job_queue;
begin
    perform dotq.fn_job_get(p_job_id);
    select * into l_job from dotq.job_queue where job_id = p_job_id;

    return query
    select row_number() over (order by found.rank)::integer, found.blocker, found.detail, found.remedy
    from (
        select * from dotq.fn_job_explain_state(l_job)
        union all
        select * from dotq.fn_job_explain_gates(l_job) where l_job.finished_at is null
        union all
        select * from dotq.fn_job_explain_turn(l_job) where l_job.state in ('queued', 'retry_waiting')
    ) as found
    order by found.rank;
end
$fn$;

comment on function dotq.fn_job_explain is
'Why a job is not running: each blocker in the order in which it counts, with the statement that lifts it, or none when only a worker can. The last row of a
waiting job says how many are ahead of it. Raises 22023 (no id), JQ002 (no such job).';
revoke all on function dotq.fn_job_explain from public;
grant execute on function dotq.fn_job_explain to dotq_producer, dotq_worker, dotq_operator;
