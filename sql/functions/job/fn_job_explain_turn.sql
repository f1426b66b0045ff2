-- The count of jobs ahead stops at a thousand: nobody needs to know more, and everybody wants the answer soon.
create or replace function dotq.fn_job_explain_turn(p_job dotq.job_queue)
returns table (rank integer, blocker text, detail text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select 60, 'no_worker',
    concat_ws(' ', 'no registered worker takes the kind', p_job.job_kind, 'with the affinity key ' || p_job.affinity_key), null
where not exists (
    select
    from dotq.queue_worker as w
    where (w.kinds is null or p_job.job_kind = any (w.kinds))
      and (p_job.affinity_key is null or p_job.affinity_key = any (w.affinity_keys))
      and w.last_heartbeat_at > dotq.fn_clock_now() - make_interval(secs => dotq.fn_config_integer('queue.worker.timeout_sec'))
)
union all
select 70, case ahead.jobs when 0 then 'next' else 'waiting_turn' end,
    case ahead.jobs
        when 0 then 'nothing is ahead of it'
        when 1 then 'one job is ahead of it'
        when 1000 then 'a thousand jobs or more are ahead of it'
        else format('%s jobs are ahead of it', ahead.jobs)
    end,
    case when ahead.jobs > 0 then format('select dotq.fn_job_reschedule(%L, %L, p_priority => 0);', p_job.job_id, session_user) end
from (
    select count(*) as jobs
    from (
        select
        from dotq.job_queue as q
        where q.state in ('queued', 'retry_waiting')
          and q.job_kind = p_job.job_kind
          and q.affinity_key is not distinct from p_job.affinity_key
          and (q.priority, q.scheduled_at, q.job_id) < (p_job.priority::integer, p_job.scheduled_at::timestamptz, p_job.job_id)
          and q.scheduled_at <= greatest(p_job.scheduled_at, dotq.fn_clock_now())
        limit 1000
    ) as earlier
) as ahead
$fn$;

comment on function dotq.fn_job_explain_turn is 'What a waiting job waits for otherwise: a worker that takes it, and the jobs of its kind ahead of it.';
revoke all on function dotq.fn_job_explain_turn from public;
