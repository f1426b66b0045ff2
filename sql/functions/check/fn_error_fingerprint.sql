-- Cut after the numbers are gone: cut before, two long errors would end at different words because one number is longer.
create or replace function dotq.fn_error_fingerprint(p_error text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select left(md5(left(
    regexp_replace(
        regexp_replace(
            regexp_replace(lower(left(p_error, 10000)), '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '?', 'g'),
            '''[^'']*''|"[^"]*"', '?', 'g'
        ),
        '0x[0-9a-f]+|\m[0-9a-f]{16,}\M|[0-9]+[0-9a-f]*([.][0-9]+)*|\s+', '?', 'g'
    ), 1000
)), 12)
$fn$;

comment on function dotq.fn_error_fingerprint is 'Twelve characters that are the same for errors which differ only in numbers, ids, quoted values and blanks.';
revoke all on function dotq.fn_error_fingerprint from public;
