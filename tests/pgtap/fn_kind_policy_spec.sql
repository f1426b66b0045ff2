begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_policy_spec'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_policy_spec'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_policy_spec'::regproc), 'i', 'it looks at nothing but its arguments');
select results_eq(
    'select name, json_type, minimum, maximum, choices, fallback from dotq.fn_kind_policy_spec() order by name',
    $$values
        ('backoff_base_sec', 'number', 0::numeric, 86400::numeric, null::text[], 'null'::jsonb),
        ('backoff_cap_sec', 'number', 0, 2592000, null, 'null'),
        ('backoff_jitter', 'number', 0, 1, null, '0'),
        ('backoff_strategy', 'string', null, null, array['exponential', 'quadratic', 'linear', 'fixed'], '"exponential"'),
        ('crash_limit', 'number', 1, 1000, null, 'null'),
        ('dedupe', 'string', null, null, array['active', 'retained'], '"active"'),
        ('default_priority', 'number', 0, 2147483647, null, '100'),
        ('description', 'string', null, null, null, 'null'),
        ('enabled', 'boolean', null, null, null, 'true'),
        ('lease_seconds', 'number', 1, 604800, null, 'null'),
        ('max_attempts', 'number', 1, 1000, null, 'null'),
        ('max_payload_bytes', 'number', 2, 104857600, null, 'null'),
        ('on_crash', 'string', null, null, array['retry', 'dead_letter', 'hold'], '"retry"'),
        ('owner_agent', 'string', null, null, null, 'null'),
        ('payload_schema', 'object', null, null, null, 'null')$$,
    'every policy has the type, range, choices and default that the documentation gives it'
);
select results_eq(
    'select name, allowed from dotq.fn_kind_policy_spec() order by name',
    $$values
        ('backoff_base_sec', 'a whole number from 0 to 86400'),
        ('backoff_cap_sec', 'a whole number from 0 to 2592000'),
        ('backoff_jitter', 'a number from 0 to 1'),
        ('backoff_strategy', 'exponential, quadratic, linear or fixed'),
        ('crash_limit', 'a whole number from 1 to 1000'),
        ('dedupe', 'active or retained'),
        ('default_priority', 'a whole number from 0; low is urgent'),
        ('description', 'a text of at most 200 characters'),
        ('enabled', 'true or false'),
        ('lease_seconds', 'a whole number from 1 to 604800'),
        ('max_attempts', 'a whole number from 1 to 1000'),
        ('max_payload_bytes', 'a whole number from 2 to 104857600'),
        ('on_crash', 'retry, dead_letter or hold'),
        ('owner_agent', 'a name of at most 200 characters'),
        ('payload_schema', 'a JSON Schema in the supported subset')$$,
    'every policy says in words what it may hold'
);
select results_eq(
    'select name from dotq.fn_kind_policy_spec() order by name',
    $$select attname::text collate "default" as name
    from pg_attribute
    where attrelid = 'dotq.job_kind'::regclass and attnum > 0 and not attisdropped
      and attname not in ('job_kind', 'paused_at', 'paused_until', 'paused_by', 'pause_reason', 'registered_by', 'created_at', 'updated_at')
    order by 1$$,
    'every column of a kind that is a policy can be set, and nothing else'
);

insert into dotq.job_kind (job_kind, registered_by) values ('fresh', 'ann');
select is_empty(
    $$select spec.name
    from dotq.fn_kind_policy_spec() as spec, dotq.job_kind as kind
    where kind.job_kind = 'fresh' and to_jsonb(kind) -> spec.name is distinct from spec.fallback$$,
    'what a null means is what a new kind has'
);

select * from finish();
rollback;
