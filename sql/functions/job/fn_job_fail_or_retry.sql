create or replace function dotq.fn_job_fail_or_retry(p_job_id uuid, p_lease text, p_error text, p_retryable boolean default true)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_job dotq.job_queue;
    l_error text := dotq.fn_error_clean('error', p_error);
    l_state text;
    l_retry_at timestamptz;
    l_dead_letter_id uuid;
begin
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');
    l_job := dotq.fn_job_lock(p_job_id, p_lease);
    l_state := case
        when l_job.cancel_requested_at is not null then 'cancelled'
        when not coalesce(p_retryable, true) then 'failed'
        when l_job.attempts >= l_job.max_attempts then 'dead_letter'
        else 'retry_waiting'
    end;

    if l_state = 'cancelled' then
        perform dotq.fn_job_drop(l_job, concat_ws('; ', l_job.last_error, l_error));
    elsif l_state = 'retry_waiting' then
        l_retry_at := dotq.fn_job_requeue(l_job, l_state, dotq.fn_backoff_delay(l_job.job_kind, l_job.attempts), l_error);
    else
        l_dead_letter_id := dotq.fn_job_bury(
            l_job, l_state, case l_state when 'failed' then 'not_retryable' else 'exhausted' end, l_error, l_job.lease_owner
        );
    end if;

    return jsonb_build_object(
        'ok', true, 'job_id', p_job_id, 'state', l_state, 'attempts', l_job.attempts, 'max_attempts', l_job.max_attempts,
        'scheduled_at', l_retry_at, 'dead_letter_id', l_dead_letter_id
    );
end
$fn$;

comment on function dotq.fn_job_fail_or_retry is
'Report that an attempt failed; the queue decides what follows: {ok, job_id, state, attempts, max_attempts, scheduled_at, dead_letter_id}.
State: retry_waiting (until scheduled_at), dead_letter (no attempts left), failed (not retryable) or cancelled (a cancel was asked for).
Raises 22023 (malformed lease, blank error), JQ001 (gate closed), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_fail_or_retry from public;
grant execute on function dotq.fn_job_fail_or_retry to dotq_worker, dotq_operator;
