-- Size first, then depth, then content: each later look is only taken at what the earlier one found small enough.
-- 64 levels and the range of a double are what every language's JSON reader takes without a word.
create or replace function dotq.fn_json_assert(p_field text, p_value jsonb, p_max_bytes integer, p_object boolean default true)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_bytes integer;
    l_key text;
begin
    if p_value is null then
        return;
    elsif p_object and jsonb_typeof(p_value) <> 'object' then
        raise exception '%: is a JSON %', p_field, jsonb_typeof(p_value)
            using errcode = '22023', hint = 'Allowed: a JSON object.';
    end if;

    l_bytes := octet_length(p_value::text);

    if l_bytes > p_max_bytes then
        raise exception '%: is % bytes long', p_field, l_bytes
            using errcode = '22023',
                  hint = format('Allowed: %s bytes. Keep large input elsewhere and point to it with payload_ref.', p_max_bytes);
    elsif jsonb_path_exists(p_value, 'strict $.**{65}') then
        raise exception '%: is nested too deeply', p_field using errcode = '22023', hint = 'Allowed: 64 levels.';
    elsif jsonb_path_exists(p_value, 'strict $.** ? (@.type() == "number") ? (@ > 1e308 || @ < -1e308)') then
        raise exception '%: holds a number that no double can hold', p_field
            using errcode = '22023', hint = 'Allowed: -1e308 to 1e308; write larger numbers as strings.';
    elsif dotq.fn_json_is_safe(p_value) then
        return;
    end if;

    select pair ->> 'key' into l_key
    from jsonb_path_query(p_value, 'strict $.** ? (@.type() == "object").keyvalue()') as pair
    where not dotq.fn_json_is_safe(jsonb_build_object(pair ->> 'key', null))
    limit 1;

    raise exception '%: the key % is not allowed', p_field, quote_ident(dotq.fn_text_line(l_key))
        using errcode = '22023',
              hint = 'Denied at any depth: body, content, raw, vector, embedding, secret, token, password, ssn, personal_data. Keep such data elsewhere and point to it with payload_ref.';
end
$fn$;

comment on function dotq.fn_json_assert is
'Refuse JSON that is too large, too deep, of the wrong type, or has a denied key. Null passes. Raises 22023.';
revoke all on function dotq.fn_json_assert from public;
