create or replace function dotq.fn_job_claim(
    p_worker_id     text,
    p_lease_seconds integer default null,
    p_allowed_kinds text[] default null
)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_job jsonb;
    l_reason text;
begin
    select to_jsonb(claimed) into l_job
    from dotq.fn_job_claim_many(p_worker_id, 1, p_lease_seconds, p_allowed_kinds) as claimed;

    if l_job is null then
        l_reason := case
            when not dotq.fn_config_boolean('queue.job_substrate.enabled') then 'gate_closed: queue.job_substrate.enabled'
            when not dotq.fn_config_boolean('queue.claim.enabled') then 'gate_closed: queue.claim.enabled'
            when dotq.fn_kind_claimable(p_allowed_kinds, dotq.fn_clock_now()) is null then 'no_kind: none of the allowed kinds is registered, enabled and not paused'
            else 'empty: no job is due'
        end;
    end if;

    return jsonb_build_object('ok', true, 'job', l_job, 'reason', l_reason);
end
$fn$;

comment on function dotq.fn_job_claim is
'Lease the most urgent job that is due: {ok, job, reason}. The job is null when there is none, and the reason then begins with
empty, no_kind or gate_closed; else it has job_id, job_kind, attempts, payload_json, lease, lease_until and the rest of fn_job_claim_many.
Raises 22023 (bad argument).';
revoke all on function dotq.fn_job_claim from public;
grant execute on function dotq.fn_job_claim to dotq_worker, dotq_operator;
