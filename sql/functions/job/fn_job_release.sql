create or replace function dotq.fn_job_release(p_job_id uuid, p_lease text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_job dotq.job_queue;
begin
    l_job := dotq.fn_job_lock(p_job_id, p_lease);

    if l_job.cancel_requested_at is not null then
        perform dotq.fn_job_drop(l_job, l_job.last_error);
        return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', 'cancelled', 'attempts', l_job.attempts);
    end if;

    l_job.attempts := greatest(l_job.attempts - 1, 0);
    perform dotq.fn_job_requeue(l_job, 'queued', interval '0', null);

    return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', 'queued', 'attempts', l_job.attempts);
end
$fn$;

comment on function dotq.fn_job_release is
'Hand back a job that was not started or was interrupted; the attempt is given back. A job that was asked to cancel ends as cancelled.
Works while the gates are closed. Raises 22023 (malformed lease), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_release from public;
grant execute on function dotq.fn_job_release to dotq_worker, dotq_operator;
