create or replace function dotq.fn_payload_value_problem(p_schema jsonb, p_value jsonb, p_path text)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_type text := jsonb_typeof(p_value);
    l_types jsonb := case jsonb_typeof(p_schema -> 'type') when 'string' then jsonb_build_array(p_schema -> 'type') else p_schema -> 'type' end;
    l_text text := p_value #>> '{}';
    l_number numeric;
    l_size integer;
    l_missing text;
begin
    if not (l_types is null or l_types ? l_type or l_types ? 'integer' and l_type = 'number' and l_text::numeric = trunc(l_text::numeric)) then
        return format('%s: must be %s, not %s', p_path, (select string_agg(named, ' or ') from jsonb_array_elements_text(l_types) as named), l_type);
    elsif p_schema ? 'enum' and not exists (select from jsonb_array_elements(p_schema -> 'enum') as choice where choice = p_value) then
        return format('%s: must be one of %s', p_path, left(p_schema ->> 'enum', 300));
    elsif p_schema ? 'const' and p_value <> p_schema -> 'const' then
        return format('%s: must be %s', p_path, left((p_schema -> 'const')::text, 300));
    end if;

    if l_type = 'number' then
        l_number := l_text::numeric;
        return case
            when l_number < (p_schema ->> 'minimum')::numeric then format('%s: must be at least %s', p_path, p_schema ->> 'minimum')
            when l_number > (p_schema ->> 'maximum')::numeric then format('%s: must be at most %s', p_path, p_schema ->> 'maximum')
            when l_number <= (p_schema ->> 'exclusiveMinimum')::numeric then format('%s: must be greater than %s', p_path, p_schema ->> 'exclusiveMinimum')
            when l_number >= (p_schema ->> 'exclusiveMaximum')::numeric then format('%s: must be less than %s', p_path, p_schema ->> 'exclusiveMaximum')
        end;
    elsif l_type = 'string' then
        return case
            when char_length(l_text) < (p_schema ->> 'minLength')::integer then format('%s: must have at least %s characters', p_path, p_schema ->> 'minLength')
            when char_length(l_text) > (p_schema ->> 'maxLength')::integer then format('%s: must have at most %s characters', p_path, p_schema ->> 'maxLength')
            when l_text !~ (p_schema ->> 'pattern') then format('%s: must match %s', p_path, p_schema ->> 'pattern')
        end;
    elsif l_type = 'array' then
        l_size := jsonb_array_length(p_value);
        return case
            when l_size < (p_schema ->> 'minItems')::integer then format('%s: must have at least %s items', p_path, p_schema ->> 'minItems')
            when l_size > (p_schema ->> 'maxItems')::integer then format('%s: must have at most %s items', p_path, p_schema ->> 'maxItems')
            when (p_schema ->> 'uniqueItems')::boolean and l_size > (select count(distinct item) from jsonb_array_elements(p_value) as item)
                then format('%s: must not repeat an item', p_path)
        end;
    elsif l_type = 'object' then
        select name into l_missing
        from jsonb_array_elements_text(p_schema -> 'required') as name
        where not p_value ? name
        limit 1;
        l_size := (select count(*) from jsonb_object_keys(p_value));
        return case
            when l_missing is not null then format('%s: %s is required', p_path, l_missing)
            when l_size < (p_schema ->> 'minProperties')::integer then format('%s: must have at least %s members', p_path, p_schema ->> 'minProperties')
            when l_size > (p_schema ->> 'maxProperties')::integer then format('%s: must have at most %s members', p_path, p_schema ->> 'maxProperties')
        end;
    end if;

    return null;
end
$fn$;

comment on function dotq.fn_payload_value_problem is 'What a JSON Schema says against a value itself, leaving its parts aside, or null.';
revoke all on function dotq.fn_payload_value_problem from public;
