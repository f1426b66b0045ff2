create or replace function dotq.fn_job_reschedule(p_job_id uuid, p_actor text, p_scheduled_at timestamptz default null, p_priority integer default null)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job dotq.job_queue;
    l_now timestamptz;
    l_due timestamptz;
begin
    perform dotq.fn_job_arguments_assert('-', p_actor, null, null, null, null, p_priority, p_scheduled_at, null);
    perform pg_current_xact_id();
    l_job := dotq.fn_job_find(p_job_id);

    if l_job.state not in ('queued', 'retry_waiting') then
        raise exception 'job % is %', p_job_id, l_job.state using errcode = 'JQ004', hint = 'Only a waiting job can be rescheduled.';
    end if;

    l_now := dotq.fn_clock_now();
    l_due := greatest(case when p_priority is null then p_scheduled_at else coalesce(p_scheduled_at, l_job.scheduled_at) end, l_now);

    insert into dotq.dot_config_audit (key, old_value, new_value, changed_by)
    values (
        'job:' || p_job_id,
        jsonb_build_object('scheduled_at', l_job.scheduled_at, 'priority', l_job.priority)::text,
        jsonb_build_object('scheduled_at', l_due, 'priority', coalesce(p_priority, l_job.priority))::text,
        p_actor
    );

    update dotq.job_queue
    set scheduled_at = l_due,
        priority = coalesce(p_priority, priority),
        updated_at = l_now
    where job_id = p_job_id
    returning * into l_job;

    return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', l_job.state, 'scheduled_at', l_job.scheduled_at, 'priority', l_job.priority);
end
$fn$;

comment on function dotq.fn_job_reschedule is
'Move a waiting job to another time, to another priority, or both; with neither, it is due now. Audited. {ok, job_id, state, scheduled_at, priority}.
Raises 22023 (bad argument), JQ002 (no such job), JQ004 (the job is not waiting).';
revoke all on function dotq.fn_job_reschedule from public;
grant execute on function dotq.fn_job_reschedule to dotq_operator;
