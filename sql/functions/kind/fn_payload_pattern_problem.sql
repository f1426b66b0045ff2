create or replace function dotq.fn_payload_pattern_problem(p_pattern jsonb)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if jsonb_typeof(p_pattern) <> 'string' or char_length(p_pattern #>> '{}') > 500 then
        return 'must be a regular expression of at most 500 characters';
    end if;

    perform '' ~ (p_pattern #>> '{}');
    return null;
exception
    when invalid_regular_expression then
        return 'is not a regular expression of PostgreSQL';
end
$fn$;

comment on function dotq.fn_payload_pattern_problem is 'What is wrong with the "pattern" of a JSON Schema, or null.';
revoke all on function dotq.fn_payload_pattern_problem from public;
