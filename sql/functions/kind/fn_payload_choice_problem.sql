create or replace function dotq.fn_payload_choice_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_fits bigint;
begin
    if p_schema ? 'anyOf' then
        if not exists (
            select from jsonb_array_elements(p_schema -> 'anyOf') as choice
            where dotq.fn_payload_part_problem(choice, p_value, p_path, p_root) is null
        ) then
            return format('%s: fits none of the allowed forms', p_path);
        end if;
    end if;

    if p_schema ? 'oneOf' then
        select count(*) into l_fits
        from jsonb_array_elements(p_schema -> 'oneOf') as choice
        where dotq.fn_payload_part_problem(choice, p_value, p_path, p_root) is null;

        if l_fits <> 1 then
            return format('%s: fits %s of the allowed forms, must fit exactly one', p_path, l_fits);
        end if;
    end if;

    return null;
end
$fn$;

comment on function dotq.fn_payload_choice_problem is 'What anyOf and oneOf of a JSON Schema say against a value, or null.';
revoke all on function dotq.fn_payload_choice_problem from public;
