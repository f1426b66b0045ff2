create or replace function dotq.fn_dead_letter_filter_assert(p_filter jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_bad record;
begin
    if p_filter is null or jsonb_typeof(p_filter) <> 'object' then
        raise exception 'filter: must be a JSON object' using errcode = '22023', hint = 'Allowed: {} for all, or any of kind, fingerprint, cause, status.';
    end if;

    select key, value into l_bad
    from jsonb_each(p_filter)
    where key not in ('kind', 'fingerprint', 'cause', 'status') or jsonb_typeof(value) <> 'string'
    limit 1;

    if found then
        raise exception 'filter: % cannot be %', dotq.fn_text_line(l_bad.key), left(l_bad.value::text, 100)
            using errcode = '22023', hint = 'Allowed: strings for kind, fingerprint, cause, status.';
    end if;
end
$fn$;

comment on function dotq.fn_dead_letter_filter_assert is 'Refuse a filter of dead letters with an unknown name or a value that is no string. Raises 22023.';
revoke all on function dotq.fn_dead_letter_filter_assert from public;
