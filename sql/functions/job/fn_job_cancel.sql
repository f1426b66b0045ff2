create or replace function dotq.fn_job_cancel(p_job_id uuid, p_actor text, p_reason text default null)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job dotq.job_queue;
    l_error text;
begin
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_text_assert('reason', p_reason, 1000, false);
    l_error := concat_ws(': ', 'cancelled by ' || p_actor, p_reason);
    l_job := dotq.fn_job_find(p_job_id);

    if l_job.state in ('queued', 'retry_waiting') then
        l_job.cancel_requested_by := p_actor;
        perform dotq.fn_job_drop(l_job, l_error);
        return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', 'cancelled', 'cancel_requested', false);
    elsif l_job.lease_owner is null then
        raise exception 'job % is % already', p_job_id, l_job.state using errcode = 'JQ004', hint = 'Only a job that has not ended can be cancelled.';
    end if;

    update dotq.job_queue
    set cancel_requested_at = coalesce(cancel_requested_at, dotq.fn_clock_now()),
        cancel_requested_by = coalesce(cancel_requested_by, p_actor),
        last_error = case when cancel_requested_at is null then l_error else last_error end,
        updated_at = dotq.fn_clock_now()
    where job_id = p_job_id
    returning * into l_job;

    return jsonb_build_object(
        'ok', true, 'job_id', p_job_id, 'state', l_job.state, 'cancel_requested', true,
        'forced_at', l_job.cancel_requested_at + make_interval(secs => dotq.fn_config_integer('queue.cancel.grace_sec'))
    );
end
$fn$;

comment on function dotq.fn_job_cancel is
'Cancel a waiting job at once. A running one is asked through its heartbeat, and fenced off by maintenance at forced_at:
{ok, job_id, state, cancel_requested, forced_at}. Raises 22023 (bad argument), JQ002 (no such job), JQ004 (the job has ended).';
revoke all on function dotq.fn_job_cancel from public;
grant execute on function dotq.fn_job_cancel to dotq_producer, dotq_operator;
