-- A missing value counts as null. A $ref that leads back to itself is refused when the schema is set, so this recursion ends.
create or replace function dotq.fn_payload_part_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_value jsonb := coalesce(p_value, 'null');
    l_problem text;
    l_child record;
begin
    if p_schema is null or p_schema in ('true', 'null') then
        return null;
    elsif p_schema = 'false' then
        return format('%s: is not allowed', p_path);
    end if;

    if p_schema ? '$ref' then
        l_problem := dotq.fn_payload_part_problem(
            coalesce(p_root #> string_to_array(substr(p_schema ->> '$ref', 3), '/'), 'false'), l_value, p_path, p_root
        );
    end if;

    l_problem := coalesce(l_problem, dotq.fn_payload_value_problem(p_schema, l_value, p_path));

    if l_problem is not null then
        return l_problem;
    end if;

    for l_child in select * from dotq.fn_payload_children(p_schema, l_value, p_path) loop
        l_problem := dotq.fn_payload_part_problem(l_child.schema, l_child.value, l_child.path, p_root);

        if l_problem is not null then
            return l_problem;
        end if;
    end loop;

    return dotq.fn_payload_choice_problem(p_schema, l_value, p_path, p_root);
end
$fn$;

comment on function dotq.fn_payload_part_problem is
'The first place where a value does not fit a part of a JSON Schema that fn_payload_schema_problem found right, or null. References are looked up in p_root.';
revoke all on function dotq.fn_payload_part_problem from public;
