-- 3.0 is a whole number to JSON and none to the integer columns; without its empty decimals it is one to both.
create or replace function dotq.fn_kind_policy_defaults(p_policy jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select coalesce(jsonb_object_agg(given.key, case jsonb_typeof(given.value)
    when 'null' then spec.fallback
    when 'number' then to_jsonb(trim_scale(given.value::numeric))
    else given.value
end), '{}')
from jsonb_each(p_policy) as given
join dotq.fn_kind_policy_spec() as spec on spec.name = given.key
$fn$;

comment on function dotq.fn_kind_policy_defaults is 'A policy object with each null replaced by what that policy falls back to, and numbers without empty decimals.';
revoke all on function dotq.fn_kind_policy_defaults from public;
