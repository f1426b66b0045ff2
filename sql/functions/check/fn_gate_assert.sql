-- A closed gate raises instead of answering: the caller's transaction must not commit without its job or its ack.
create or replace function dotq.fn_gate_assert(p_key text)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not dotq.fn_config_boolean(p_key) then
        raise exception 'the gate % is closed', p_key
            using errcode = 'JQ001',
                  hint = format('An operator opens it with: select dotq.fn_config_set(%L, ''true'', <actor>);', p_key);
    end if;
end
$fn$;

comment on function dotq.fn_gate_assert is 'Refuse while a gate is closed. Raises JQ001.';
revoke all on function dotq.fn_gate_assert from public;
