create or replace function dotq.fn_payload_type_problem(p_type jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select case
    when jsonb_typeof(p_type) not in ('string', 'array') or p_type = '[]'
        or exists (
            select
            from jsonb_array_elements(case jsonb_typeof(p_type) when 'array' then p_type else jsonb_build_array(p_type) end) as named
            where named #>> '{}' is null
               or named #>> '{}' not in ('object', 'array', 'string', 'number', 'integer', 'boolean', 'null')
        )
    then 'must be object, array, string, number, integer, boolean, null, or a list of these'
end
$fn$;

comment on function dotq.fn_payload_type_problem is 'What is wrong with the "type" of a JSON Schema, or null.';
revoke all on function dotq.fn_payload_type_problem from public;
