create or replace function dotq.fn_payload_children(p_schema jsonb, p_value jsonb, p_path text)
returns table (schema jsonb, value jsonb, path text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select coalesce(p_schema #> array['properties', member.key], p_schema -> 'additionalProperties'), member.value, p_path || '.' || member.key
from jsonb_each(case jsonb_typeof(p_value) when 'object' then p_value else '{}' end) as member
union all
select p_schema -> 'items', item, format('%s[%s]', p_path, ord - 1)
from jsonb_array_elements(case jsonb_typeof(p_value) when 'array' then p_value else '[]' end) with ordinality as listed (item, ord)
where p_schema ? 'items'
union all
select part, p_value, p_path
from jsonb_array_elements(coalesce(p_schema -> 'allOf', '[]')) as part
$fn$;

comment on function dotq.fn_payload_children is 'The parts of a value that a JSON Schema says something about, each with its schema and its place.';
revoke all on function dotq.fn_payload_children from public;
