-- Anybody may ask with any schema: it is checked first, together with the definitions that it may refer to, so that what
-- follows ends and knows only what it understands.
create or replace function dotq.fn_payload_problem(p_schema jsonb, p_value jsonb, p_path text default '$', p_root jsonb default null)
returns text
language plpgsql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_schema jsonb := p_schema;
    l_problem text;
begin
    if jsonb_typeof(p_root) = 'object' and jsonb_typeof(p_schema) = 'object' then
        l_schema := p_schema || jsonb_build_object(
            '$defs', coalesce(p_root -> '$defs', '{}'), 'definitions', coalesce(p_root -> 'definitions', '{}')
        );
    end if;

    l_problem := dotq.fn_payload_schema_problem(l_schema);

    if l_problem is not null then
        raise exception 'schema: %', dotq.fn_text_line(l_problem) using errcode = '22023';
    elsif jsonb_path_exists(p_value, 'strict $.**{65}') then
        raise exception 'value: is nested too deeply' using errcode = '22023', hint = 'Allowed: 64 levels.';
    end if;

    return dotq.fn_payload_part_problem(l_schema, p_value, p_path, l_schema);
end
$fn$;

comment on function dotq.fn_payload_problem is
'The first place where a value does not fit a JSON Schema (the subset of fn_payload_schema_problem), in words that name the place; null when it fits.
References are looked up in p_root, or in the schema itself. Raises 22023 (schema malformed or outside the subset, value nested too deeply).';
revoke all on function dotq.fn_payload_problem from public;
grant execute on function dotq.fn_payload_problem to dotq_producer, dotq_worker, dotq_operator;
