-- jsonb_populate_record lets the table say what each policy is: an absent key keeps what the kind had, a null goes back to
-- what is configured for all kinds.
create or replace function dotq.fn_kind_set(p_kind text, p_policy jsonb, p_actor text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_is_new boolean;
    l_old dotq.job_kind;
    l_new dotq.job_kind;
begin
    perform dotq.fn_text_assert('kind', p_kind, 200);
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_kind_policy_assert(p_policy);

    insert into dotq.job_kind (job_kind, registered_by) values (p_kind, p_actor) on conflict (job_kind) do nothing;
    l_is_new := found;
    select * into l_old from dotq.job_kind where job_kind = p_kind for update;
    l_new := jsonb_populate_record(l_old, dotq.fn_kind_policy_defaults(p_policy));

    update dotq.job_kind
    set enabled = l_new.enabled,
        default_priority = l_new.default_priority,
        max_attempts = l_new.max_attempts,
        lease_seconds = l_new.lease_seconds,
        backoff_strategy = l_new.backoff_strategy,
        backoff_base_sec = l_new.backoff_base_sec,
        backoff_cap_sec = l_new.backoff_cap_sec,
        backoff_jitter = l_new.backoff_jitter,
        on_crash = l_new.on_crash,
        crash_limit = l_new.crash_limit,
        dedupe = l_new.dedupe,
        payload_schema = l_new.payload_schema,
        max_payload_bytes = l_new.max_payload_bytes,
        owner_agent = l_new.owner_agent,
        description = l_new.description,
        updated_at = dotq.fn_clock_now()
    where job_kind = p_kind;

    insert into dotq.dot_config_audit (key, old_value, new_value, changed_by)
    values ('kind:' || p_kind, case when not l_is_new then to_jsonb(l_old)::text end, dotq.fn_kind_get(p_kind)::text, p_actor);

    return dotq.fn_kind_get(p_kind) || jsonb_build_object('ok', true);
end
$fn$;

comment on function dotq.fn_kind_set is
'Register a kind, or change the policies named in a JSON object; the others stay. Audited. Returns the whole policy.
Raises 22023 (unknown policy, wrong type, out of range, schema outside the supported subset).';
revoke all on function dotq.fn_kind_set from public;
grant execute on function dotq.fn_kind_set to dotq_operator;
