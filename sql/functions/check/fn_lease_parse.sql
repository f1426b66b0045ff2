create or replace function dotq.fn_lease_parse(p_lease text, out owner text, out token bigint)
returns record
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_lease is null or p_lease !~ '^[^#]{1,200}(#[0-9]{1,18})?$' or btrim(p_lease) = '' then
        raise exception 'lease: % is not a lease', coalesce(quote_literal(dotq.fn_text_line(p_lease)), 'null')
            using errcode = '22023', hint = 'Allowed: the handle worker-id#token that the claim returned, or the plain worker id.';
    end if;

    owner := split_part(p_lease, '#', 1);
    token := nullif(split_part(p_lease, '#', 2), '')::bigint;
end
$fn$;

comment on function dotq.fn_lease_parse is
'Take a lease apart: the handle worker-id#token, or a plain worker id, which leaves the token null. Raises 22023.';
revoke all on function dotq.fn_lease_parse from public;
