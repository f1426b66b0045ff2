-- The denied keys are written once, in the domain; this asks the domain instead of repeating them.
create or replace function dotq.fn_json_is_safe(p_value jsonb)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_safe dotq.safe_json;
begin
    l_safe := p_value;
    return true;
exception
    when check_violation then
        return false;
end
$fn$;

comment on function dotq.fn_json_is_safe is 'Whether a JSON value is free of denied keys, at any depth and in any letter case.';
revoke all on function dotq.fn_json_is_safe from public;
