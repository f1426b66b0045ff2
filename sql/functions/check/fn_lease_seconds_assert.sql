create or replace function dotq.fn_lease_seconds_assert(p_lease_seconds integer)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_max integer;
begin
    if p_lease_seconds is null then
        return;
    end if;

    l_max := dotq.fn_config_integer('queue.lease.max_sec');

    if p_lease_seconds not between 1 and l_max then
        raise exception 'lease_seconds: % is out of range', p_lease_seconds
            using errcode = '22023', hint = format('Allowed: 1 to %s (queue.lease.max_sec).', l_max);
    end if;
end
$fn$;

comment on function dotq.fn_lease_seconds_assert is 'Refuse a lease that is not positive or longer than queue.lease.max_sec. Null passes. Raises 22023.';
revoke all on function dotq.fn_lease_seconds_assert from public;
