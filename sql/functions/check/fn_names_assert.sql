create or replace function dotq.fn_names_assert(p_field text, p_names text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_names is null then
        return;
    elsif cardinality(p_names) not between 1 and 1000 then
        raise exception '%: names % entries', p_field, cardinality(p_names)
            using errcode = '22023', hint = 'Allowed: null for no restriction, or 1 to 1000 names.';
    end if;

    perform dotq.fn_text_assert(p_field, name, 200) from unnest(p_names) as name;
end
$fn$;

comment on function dotq.fn_names_assert is 'Refuse a list of names that is empty, too long, or holds a null or blank name. Null passes. Raises 22023.';
revoke all on function dotq.fn_names_assert from public;
