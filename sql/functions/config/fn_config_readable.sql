create or replace function dotq.fn_config_readable(p_key text, p_value text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
select exists (
    select
    from dotq.fn_config_spec() as spec
    where spec.key = p_key
      and case spec.value_type
          when 'boolean' then lower(btrim(p_value)) in ('true', 'false', 'on', 'off', 'yes', 'no', '1', '0')
          else btrim(p_value) ~ '^[0-9]{1,9}$'
              and btrim(p_value)::integer between spec.minimum and spec.maximum
      end
)
$fn$;

comment on function dotq.fn_config_readable is 'Whether a value is one that its key may hold; false for unknown keys and for null.';
revoke all on function dotq.fn_config_readable from public;
grant execute on function dotq.fn_config_readable to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
