create or replace function dotq.fn_text_line(p_value text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select case when char_length(p_value) > 300 then left(line, 299) || '…' else line end
from (select regexp_replace(left(p_value, 300), '[\u0001-\u001f\u007f]', ' ', 'g') as line) as cleaned
$fn$;

comment on function dotq.fn_text_line is 'A text of a caller''s as a message may quote it: on one line, at most 300 characters. Null stays null.';
revoke all on function dotq.fn_text_line from public;
