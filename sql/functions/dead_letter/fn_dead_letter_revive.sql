-- One dead letter, for a caller that goes on to the next: what stands in the way is an answer here, not a raise.
create or replace function dotq.fn_dead_letter_revive(p_letter dotq.job_dead_letter, p_actor text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_kind dotq.job_kind;
    l_job jsonb;
    l_held boolean;
begin
    if p_letter.triage_status in ('closed', 'manual_replay') then
        return jsonb_build_object('ok', false, 'outcome', p_letter.triage_status, 'job_id', p_letter.replayed_as);
    end if;

    select * into l_kind from dotq.job_kind where job_kind = p_letter.job_kind;

    if l_kind.enabled is not true then
        return jsonb_build_object('ok', false, 'outcome', 'kind_disabled', 'job_id', null);
    end if;

    -- The key of a finished job does not hold against its own replay.
    update dotq.job_queue set key_retained = false, updated_at = dotq.fn_clock_now() where job_id = p_letter.job_id and key_retained;
    l_held := found;

    l_job := dotq.fn_job_insert(
        l_kind, p_actor, nullif(p_letter.idempotency_key, p_letter.job_id::text), p_letter.payload_json, p_letter.source_ref,
        p_letter.target_ref, p_letter.payload_ref, p_letter.priority, null, p_letter.max_attempts, p_letter.run_id,
        p_letter.metadata, p_letter.affinity_key, p_letter.workflow_id, p_letter.job_id
    );

    if (l_job ->> 'duplicate')::boolean then
        update dotq.job_queue set key_retained = true where job_id = p_letter.job_id and l_held;
        return jsonb_build_object('ok', false, 'outcome', 'key_taken', 'job_id', l_job -> 'job_id');
    end if;

    update dotq.job_dead_letter
    set triage_status = 'manual_replay',
        triaged_at = dotq.fn_clock_now(),
        triaged_by = p_actor,
        replayed_as = (l_job ->> 'job_id')::uuid
    where dead_letter_id = p_letter.dead_letter_id;

    return jsonb_build_object('ok', true, 'outcome', 'replayed', 'job_id', l_job -> 'job_id');
end
$fn$;

comment on function dotq.fn_dead_letter_revive is
'Make a new job from a dead letter that the caller has locked: {ok, outcome, job_id}. Outcome: replayed, closed, manual_replay
(already replayed), key_taken (another job has the key), kind_disabled.';
revoke all on function dotq.fn_dead_letter_revive from public;
