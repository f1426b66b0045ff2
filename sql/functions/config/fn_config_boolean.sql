-- Called on every enqueue, claim and ack: one index lookup, and the list of keys is asked only when the value is no
-- plain true or false.
create or replace function dotq.fn_config_boolean(p_key text)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_value text;
    l_fallback boolean;
begin
    select value into l_value from dotq.dot_config where key = p_key;

    if l_value = 'true' then
        return true;
    elsif l_value = 'false' then
        return false;
    end if;

    select fallback::boolean into l_fallback from dotq.fn_config_spec() where key = p_key and value_type = 'boolean';

    if not found then
        raise exception 'key: % is not a gate or switch', coalesce(quote_literal(dotq.fn_text_line(p_key)), 'null')
            using errcode = 'JQ011', hint = 'select key, value_type from dotq.v_config lists them.';
    elsif dotq.fn_config_readable(p_key, l_value) then
        return lower(btrim(l_value)) in ('true', 'on', 'yes', '1');
    end if;

    return l_fallback;
end
$fn$;

comment on function dotq.fn_config_boolean is 'A gate or switch as it counts now; its safe value when the stored one is missing or cannot be read. Raises JQ011 (no such gate or switch).';
revoke all on function dotq.fn_config_boolean from public;
grant execute on function dotq.fn_config_boolean to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
