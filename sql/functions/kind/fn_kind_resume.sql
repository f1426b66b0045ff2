create or replace function dotq.fn_kind_resume(p_kind text, p_actor text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_was_paused boolean;
begin
    perform dotq.fn_text_assert('kind', p_kind, 200);
    perform dotq.fn_text_assert('actor', p_actor, 200);

    select paused_at is not null into l_was_paused from dotq.job_kind where job_kind = p_kind for update;

    if not found then
        raise exception 'kind: % is not registered', quote_literal(p_kind) using errcode = 'JQ005';
    end if;

    if l_was_paused then
        update dotq.job_kind
        set paused_at = null, paused_until = null, paused_by = null, pause_reason = null, updated_at = dotq.fn_clock_now()
        where job_kind = p_kind;

        insert into dotq.dot_config_audit (key, new_value, changed_by)
        values ('kind:' || p_kind, jsonb_build_object('paused', false)::text, p_actor);
    end if;

    return jsonb_build_object('ok', true, 'job_kind', p_kind, 'paused', false, 'was_paused', l_was_paused);
end
$fn$;

comment on function dotq.fn_kind_resume is 'Let a paused kind be claimed again. Audited. Raises 22023 (blank actor), JQ005 (no such kind).';
revoke all on function dotq.fn_kind_resume from public;
grant execute on function dotq.fn_kind_resume to dotq_operator;
