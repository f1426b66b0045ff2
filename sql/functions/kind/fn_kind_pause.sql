create or replace function dotq.fn_kind_pause(p_kind text, p_actor text, p_reason text default null, p_until timestamptz default null)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_now timestamptz := dotq.fn_clock_now();
begin
    perform dotq.fn_text_assert('kind', p_kind, 200);
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_text_assert('reason', p_reason, 1000, false);

    if p_until is not null and (not isfinite(p_until) or p_until <= l_now) then
        raise exception 'until: % is not in the future', p_until
            using errcode = '22023', hint = 'Allowed: a finite time in the future, or null to pause until resumed.';
    elsif p_until >= timestamptz '10000-01-01 00:00:00+00' then
        raise exception 'until: % is too far away', p_until
            using errcode = '22023', hint = 'Allowed: a time before the year 10000, or null to pause until resumed.';
    end if;

    update dotq.job_kind
    set paused_at = l_now, paused_until = p_until, paused_by = p_actor, pause_reason = p_reason, updated_at = l_now
    where job_kind = p_kind;

    if not found then
        raise exception 'kind: % is not registered', quote_literal(p_kind) using errcode = 'JQ005';
    end if;

    insert into dotq.dot_config_audit (key, new_value, changed_by)
    values ('kind:' || p_kind, jsonb_build_object('paused', true, 'until', p_until, 'reason', p_reason)::text, p_actor);

    return jsonb_build_object('ok', true, 'job_kind', p_kind, 'paused', true, 'until', p_until, 'reason', p_reason);
end
$fn$;

comment on function dotq.fn_kind_pause is
'Stop claims of one kind, for good or until a time; what runs goes on, enqueues are accepted. Audited.
Raises 22023 (until not in the future), JQ005 (no such kind).';
revoke all on function dotq.fn_kind_pause from public;
grant execute on function dotq.fn_kind_pause to dotq_operator;
