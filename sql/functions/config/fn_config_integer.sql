create or replace function dotq.fn_config_integer(p_key text)
returns integer
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_value text;
    l_fallback integer;
begin
    select value into l_value from dotq.dot_config where key = p_key;

    if dotq.fn_config_readable(p_key, l_value) and l_value ~ '^[ 0-9]+$' then
        return btrim(l_value)::integer;
    end if;

    select fallback::integer into l_fallback from dotq.fn_config_spec() where key = p_key and value_type = 'integer';

    if not found then
        raise exception 'key: % is not a number among the settings', coalesce(quote_literal(dotq.fn_text_line(p_key)), 'null')
            using errcode = 'JQ011', hint = 'select key, value_type from dotq.v_config lists them.';
    end if;

    return l_fallback;
end
$fn$;

comment on function dotq.fn_config_integer is 'A number as it counts now; its safe value when the stored one is missing, unreadable or out of range. Raises JQ011 (no such number).';
revoke all on function dotq.fn_config_integer from public;
grant execute on function dotq.fn_config_integer to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
