create or replace function dotq.fn_text_assert(p_field text, p_value text, p_max integer, p_required boolean default true)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_value is null then
        if p_required then
            raise exception '%: is required', p_field
                using errcode = '22023', hint = format('Allowed: 1 to %s characters, not only blanks.', p_max);
        end if;
    elsif btrim(p_value, E' \t\r\n') = '' then
        raise exception '%: must not be blank', p_field
            using errcode = '22023', hint = format('Allowed: 1 to %s characters, not only blanks.', p_max);
    elsif char_length(p_value) > p_max then
        raise exception '%: is % characters long', p_field, char_length(p_value)
            using errcode = '22023', hint = format('Allowed: 1 to %s characters.', p_max);
    elsif p_value ~ '[\u0001-\u001f\u007f]' then
        raise exception '%: contains a control character', p_field
            using errcode = '22023', hint = 'Allowed: printable characters and blanks.';
    end if;
end
$fn$;

comment on function dotq.fn_text_assert is
'Refuse a text that is null (when required), blank, too long or has control characters. Raises 22023.';
revoke all on function dotq.fn_text_assert from public;
