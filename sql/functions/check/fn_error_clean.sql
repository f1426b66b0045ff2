create or replace function dotq.fn_error_clean(p_field text, p_error text)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_text text := btrim(regexp_replace(left(p_error, 20000), '[\u0001-\u0008\u000b-\u001f\u007f]', ' ', 'g'), E' \t\n');
begin
    if l_text is null or l_text = '' then
        raise exception '%: must not be blank', p_field
            using errcode = '22023', hint = 'Allowed: any text that is not blank; it is cut at 10000 characters.';
    end if;

    return left(l_text, 10000);
end
$fn$;

comment on function dotq.fn_error_clean is
'An error text fit to be stored: control characters blanked, at most 10000 characters. Raises 22023 when it says nothing.';
revoke all on function dotq.fn_error_clean from public;
