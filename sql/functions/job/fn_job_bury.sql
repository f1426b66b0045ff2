create or replace function dotq.fn_job_bury(p_job dotq.job_queue, p_state text, p_cause text, p_error text, p_by text)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_now timestamptz := dotq.fn_clock_now();
    l_dead_letter_id uuid;
begin
    update dotq.job_queue
    set state = p_state,
        finished_at = l_now,
        lease_owner = null,
        lease_until = null,
        last_error = p_error,
        crash_count = p_job.crash_count,
        updated_at = l_now
    where job_id = p_job.job_id;

    insert into dotq.job_dead_letter (
        job_id, job_kind, source_ref, target_ref, payload_ref, payload_json, final_error, attempts, actor, run_id,
        idempotency_key, moved_at, moved_by, cause, error_fingerprint, priority, max_attempts, crash_count, metadata,
        affinity_key, workflow_id, job_created_at
    )
    values (
        p_job.job_id, p_job.job_kind, p_job.source_ref, p_job.target_ref, p_job.payload_ref, p_job.payload_json, p_error,
        p_job.attempts, p_job.actor, p_job.run_id, p_job.idempotency_key, l_now, p_by, p_cause,
        dotq.fn_error_fingerprint(p_error), p_job.priority, p_job.max_attempts, p_job.crash_count, p_job.metadata,
        p_job.affinity_key, p_job.workflow_id, p_job.created_at
    )
    returning dead_letter_id into l_dead_letter_id;

    return l_dead_letter_id;
end
$fn$;

comment on function dotq.fn_job_bury is
'End a job, whose row the caller has locked, as dead_letter or failed, and write its dead letter; returns that one''s id.';
revoke all on function dotq.fn_job_bury from public;
