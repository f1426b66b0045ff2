-- A # would make the lease handle worker-id#token ambiguous.
create or replace function dotq.fn_worker_id_assert(p_worker_id text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dotq.fn_text_assert('worker_id', p_worker_id, 200);

    if strpos(p_worker_id, '#') > 0 then
        raise exception 'worker_id: must not contain #'
            using errcode = '22023', hint = 'Allowed: 1 to 200 characters without #, such as host-pid-random.';
    end if;
end
$fn$;

comment on function dotq.fn_worker_id_assert is 'Refuse a worker id that is blank, too long or contains #. Raises 22023.';
revoke all on function dotq.fn_worker_id_assert from public;
