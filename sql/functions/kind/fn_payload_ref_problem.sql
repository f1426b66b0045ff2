-- A part that anyOf, oneOf or allOf applies looks at the same value as the schema around it, so it shares that schema's home.
-- A chain of $ref from a home back to itself would look at that value for ever.
create or replace function dotq.fn_payload_ref_problem(p_schema jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
with recursive part (schema, path, home) as (
    select p_schema, array[]::text[], array[]::text[]
    union all
    select child.schema, part.path || child.step, case when child.same_value then part.home else part.path || child.step end
    from part
    cross join lateral jsonb_each(case jsonb_typeof(part.schema) when 'object' then part.schema else '{}' end) as keyword
    cross join lateral (
        select member.value as schema, array[keyword.key, member.key] as step, false as same_value
        from jsonb_each(case when keyword.key in ('properties', '$defs', 'definitions') then keyword.value else '{}' end) as member
        union all
        select keyword.value, array[keyword.key], false
        where keyword.key in ('items', 'additionalProperties')
        union all
        select item, array[keyword.key, (ord - 1)::text], true
        from jsonb_array_elements(case when keyword.key in ('anyOf', 'oneOf', 'allOf') then keyword.value else '[]' end)
            with ordinality as listed (item, ord)
    ) as child
),
ref (path, home, target) as (
    select path, home, string_to_array(substr(schema ->> '$ref', 3), '/')
    from part
    where jsonb_typeof(schema) = 'object' and schema ? '$ref'
),
reach (home, target) as (
    select home, target from ref
    union
    select reach.home, ref.target from reach join ref on ref.home = reach.target
),
problem (path, words) as (
    select path, 'points to nothing' from ref where p_schema #> target is null
    union all
    select ref.path, 'leads back to itself without end'
    from ref join reach on reach.home = ref.home and reach.target = ref.home
)
select format('%s: %s', array_to_string('$'::text || path || '$ref'::text, '.'), words)
from problem
order by path, words
limit 1
$fn$;

comment on function dotq.fn_payload_ref_problem is 'What is wrong with the $ref of a JSON Schema, or null: one that points to nothing, or back to itself without end.';
revoke all on function dotq.fn_payload_ref_problem from public;
