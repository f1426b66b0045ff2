create or replace function dotq.fn_kind_policy_spec()
returns table (name text, json_type text, allowed text, minimum numeric, maximum numeric, choices text[], fallback jsonb)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
values
    ('enabled', 'boolean', 'true or false', null::numeric, null::numeric, null::text[], 'true'::jsonb),
    ('default_priority', 'number', 'a whole number from 0; low is urgent', 0, 2147483647, null, '100'),
    ('max_attempts', 'number', 'a whole number from 1 to 1000', 1, 1000, null, 'null'),
    ('lease_seconds', 'number', 'a whole number from 1 to 604800', 1, 604800, null, 'null'),
    ('backoff_strategy', 'string', 'exponential, quadratic, linear or fixed', null, null, array['exponential', 'quadratic', 'linear', 'fixed'], '"exponential"'),
    ('backoff_base_sec', 'number', 'a whole number from 0 to 86400', 0, 86400, null, 'null'),
    ('backoff_cap_sec', 'number', 'a whole number from 0 to 2592000', 0, 2592000, null, 'null'),
    ('backoff_jitter', 'number', 'a number from 0 to 1', 0, 1, null, '0'),
    ('on_crash', 'string', 'retry, dead_letter or hold', null, null, array['retry', 'dead_letter', 'hold'], '"retry"'),
    ('crash_limit', 'number', 'a whole number from 1 to 1000', 1, 1000, null, 'null'),
    ('dedupe', 'string', 'active or retained', null, null, array['active', 'retained'], '"active"'),
    ('payload_schema', 'object', 'a JSON Schema in the supported subset', null, null, null, 'null'),
    ('max_payload_bytes', 'number', 'a whole number from 2 to 104857600', 2, 104857600, null, 'null'),
    ('owner_agent', 'string', 'a name of at most 200 characters', null, null, null, 'null'),
    ('description', 'string', 'a text of at most 200 characters', null, null, null, 'null')
$fn$;

comment on function dotq.fn_kind_policy_spec is 'Every policy of a kind: its JSON type, what it may hold, and what a null means.';
revoke all on function dotq.fn_kind_policy_spec from public;
