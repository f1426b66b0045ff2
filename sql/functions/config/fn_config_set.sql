create or replace function dotq.fn_config_set(p_key text, p_value text, p_actor text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_spec record;
    l_old text;
begin
    perform dotq.fn_text_assert('actor', p_actor, 200);
    select * into l_spec from dotq.fn_config_spec() where key = p_key;

    if not found then
        raise exception 'key: % is not a setting', coalesce(quote_literal(dotq.fn_text_line(p_key)), 'null')
            using errcode = 'JQ011', hint = 'select key, value_type, allowed from dotq.v_config lists them.';
    elsif not dotq.fn_config_readable(p_key, p_value) then
        raise exception 'value: % cannot be the value of %', coalesce(quote_literal(dotq.fn_text_line(p_value)), 'null'), p_key
            using errcode = '22023',
                  hint = case l_spec.value_type
                      when 'boolean' then 'Allowed: true or false.'
                      else format('Allowed: a whole number from %s to %s.', l_spec.minimum, l_spec.maximum)
                  end;
    end if;

    select value into l_old from dotq.dot_config where key = p_key for update;

    insert into dotq.dot_config as config (key, value, updated_at, updated_by)
    values (
        p_key,
        case l_spec.value_type
            when 'boolean' then (lower(btrim(p_value)) in ('true', 'on', 'yes', '1'))::text
            else btrim(p_value)::integer::text
        end,
        dotq.fn_clock_now(),
        p_actor
    )
    on conflict (key) do update
    set value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by;

    return jsonb_build_object(
        'ok', true, 'key', p_key, 'old_value', l_old,
        'value', (select value from dotq.dot_config where key = p_key)
    );
end
$fn$;

comment on function dotq.fn_config_set is
'Change a gate or a setting; the change is audited. Re-opening the master gate gives every lease its full length again.
Raises 22023 (value not allowed, actor blank), JQ011 (no such key).';
revoke all on function dotq.fn_config_set from public;
grant execute on function dotq.fn_config_set to dotq_operator;
