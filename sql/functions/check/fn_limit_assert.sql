-- LIMIT NULL means "all of them" to PostgreSQL; to a caller of a queue it is a mistake.
create or replace function dotq.fn_limit_assert(p_limit integer, p_max integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_limit is null or p_limit not between 1 and p_max then
        raise exception 'limit: % is out of range', coalesce(p_limit::text, 'null')
            using errcode = '22023', hint = format('Allowed: 1 to %s.', p_max);
    end if;
end
$fn$;

comment on function dotq.fn_limit_assert is 'Refuse a limit that is null, not positive or above the given maximum. Raises 22023.';
revoke all on function dotq.fn_limit_assert from public;
