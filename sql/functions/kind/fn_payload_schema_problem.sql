-- A keyword that would be silently ignored is a rule its author believes in: it is refused when the schema is set.
create or replace function dotq.fn_payload_schema_problem(p_schema jsonb, p_path text default '$')
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_key text;
    l_value jsonb;
    l_child record;
    l_problem text;
begin
    if p_schema is null or jsonb_typeof(p_schema) = 'boolean' or p_schema = 'null' and p_path = '$' then
        return null;
    elsif jsonb_typeof(p_schema) <> 'object' then
        return format('%s: a schema is an object, true or false, not a %s', p_path, jsonb_typeof(p_schema));
    elsif p_path = '$' and (octet_length(p_schema::text) > 65536 or jsonb_path_exists(p_schema, 'strict $.**{33}')) then
        return 'is too large: allowed are 65536 bytes and 32 levels';
    end if;

    for l_key, l_value in select key, value from jsonb_each(p_schema) loop
        l_problem := case
            when l_key in ('title', 'description', 'default', 'examples', 'format', '$schema', '$id', '$comment', 'deprecated', 'readOnly', 'writeOnly', 'const') then null
            when l_key = 'type' then dotq.fn_payload_type_problem(l_value)
            when l_key in ('properties', '$defs', 'definitions') then case when jsonb_typeof(l_value) <> 'object' then 'must be an object of schemas' end
            when l_key in ('items', 'additionalProperties') then case when jsonb_typeof(l_value) not in ('object', 'boolean') then 'must be a schema' end
            when l_key in ('anyOf', 'oneOf', 'allOf') then case when jsonb_typeof(l_value) <> 'array' or l_value = '[]' then 'must be a list of schemas' end
            when l_key = 'required' then case when jsonb_typeof(l_value) <> 'array' or jsonb_path_exists(l_value, 'strict $[*] ? (@.type() != "string")') then 'must be a list of names' end
            when l_key = 'enum' then case when jsonb_typeof(l_value) <> 'array' or l_value = '[]' then 'must be a list of values' end
            when l_key in ('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum') then case when jsonb_typeof(l_value) <> 'number' then 'must be a number' end
            when l_key in ('minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties')
                then case when l_value::text !~ '^[0-9]{1,9}$' then 'must be a whole number from 0' end
            when l_key = 'uniqueItems' then case when jsonb_typeof(l_value) <> 'boolean' then 'must be true or false' end
            when l_key = 'pattern' then dotq.fn_payload_pattern_problem(l_value)
            when l_key = '$ref' then case when jsonb_typeof(l_value) <> 'string' or l_value #>> '{}' !~ '^#/(\$defs|definitions)/[^/~%]+$' then 'must point into $defs, as in #/$defs/Name' end
            else 'is not a supported keyword'
        end;

        if l_problem is not null then
            return format('%s.%s: %s', p_path, l_key, l_problem);
        end if;

        for l_child in
            select each.key as name, each.value from jsonb_each(case when l_key in ('properties', '$defs', 'definitions') then l_value else '{}' end) as each
            union all
            select '', l_value where l_key in ('items', 'additionalProperties')
            union all
            select (ord - 1)::text, item from jsonb_array_elements(case when l_key in ('anyOf', 'oneOf', 'allOf') then l_value else '[]' end) with ordinality as listed (item, ord)
        loop
            l_problem := dotq.fn_payload_schema_problem(l_child.value, concat_ws('.', p_path, l_key, nullif(l_child.name, '')));
            exit when l_problem is not null;
        end loop;

        if l_problem is not null then
            return l_problem;
        end if;
    end loop;

    return case when p_path = '$' then dotq.fn_payload_ref_problem(p_schema) end;
end
$fn$;

comment on function dotq.fn_payload_schema_problem is
'What is wrong with a JSON Schema, or null: a keyword outside the supported subset, a malformed one, or a $ref that leads nowhere.
Supported: type, properties, required, additionalProperties, items, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum,
minLength, maxLength, pattern (PostgreSQL''s regular expressions), minItems, maxItems, uniqueItems, minProperties, maxProperties,
anyOf, oneOf, allOf, $ref into $defs; annotations such as title, description, default and format are allowed and not checked.';
revoke all on function dotq.fn_payload_schema_problem from public;
