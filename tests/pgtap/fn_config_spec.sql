begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_config_spec'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'],
    'every role may call it, and nobody else'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_config_spec'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_config_spec'::regproc), 'i', 'it looks at nothing but its arguments');
select results_eq(
    'select key, value_type, minimum, maximum, fallback from dotq.fn_config_spec() order by key',
    $$values
        ('queue.cancel.grace_sec', 'integer', 0, 86400, '60'),
        ('queue.claim.enabled', 'boolean', null::integer, null::integer, 'false'),
        ('queue.enqueue.enabled', 'boolean', null, null, 'false'),
        ('queue.health.ready_age_critical_sec', 'integer', 1, 2592000, '3600'),
        ('queue.health.ready_age_warn_sec', 'integer', 1, 2592000, '300'),
        ('queue.heartbeat.enabled', 'boolean', null, null, 'false'),
        ('queue.heartbeat.stale_threshold_seconds', 'integer', 1, 86400, '300'),
        ('queue.job_substrate.enabled', 'boolean', null, null, 'false'),
        ('queue.kind.strict', 'boolean', null, null, 'true'),
        ('queue.lease.duration_sec', 'integer', 1, 604800, '300'),
        ('queue.lease.max_sec', 'integer', 1, 604800, '86400'),
        ('queue.notify.enabled', 'boolean', null, null, 'false'),
        ('queue.payload.max_bytes', 'integer', 2, 104857600, '262144'),
        ('queue.retry.backoff_base_sec', 'integer', 0, 86400, '10'),
        ('queue.retry.max_attempts_default', 'integer', 1, 1000, '5'),
        ('queue.worker.enabled', 'boolean', null, null, 'false'),
        ('queue.worker.timeout_sec', 'integer', 1, 86400, '120')$$,
    'every setting has the type, range and safe value that the documentation gives it'
);
select results_eq(
    'select key from dotq.fn_config_spec() order by key',
    'select key from dotq.dot_config order by key',
    'an installation stores a value for every setting, and for nothing else'
);
select is_empty(
    'select key, fallback from dotq.fn_config_spec() where not dotq.fn_config_readable(key, fallback)',
    'every safe value is one that its setting may hold'
);
select is_empty(
    'select key, value from dotq.dot_config where not dotq.fn_config_readable(key, value)',
    'every value of a fresh installation is one that its setting may hold'
);
select is_empty(
    $$select key from dotq.fn_config_spec() where value_type not in ('boolean', 'integer')$$,
    'a setting is a switch or a whole number'
);

select * from finish();
rollback;
