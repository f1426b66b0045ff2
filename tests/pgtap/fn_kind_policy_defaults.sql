begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_policy_defaults'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_policy_defaults'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_policy_defaults'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_kind_policy_defaults(policy::jsonb), filled::jsonb, promise)
from (
    values
        ('{}', '{}', 'nothing given, nothing filled in'),
        (null, '{}', 'no policy is an empty one'),
        (
            '{"enabled": false, "max_attempts": 3, "backoff_strategy": "fixed", "payload_schema": {"type": "object"}}',
            '{"enabled": false, "max_attempts": 3, "backoff_strategy": "fixed", "payload_schema": {"type": "object"}}',
            'what is given stays'
        ),
        (
            '{"enabled": null, "default_priority": null, "max_attempts": null, "backoff_strategy": null, "backoff_jitter": null, "on_crash": null, "dedupe": null}',
            '{"enabled": true, "default_priority": 100, "max_attempts": null, "backoff_strategy": "exponential", "backoff_jitter": 0, "on_crash": "retry", "dedupe": "active"}',
            'a null becomes what it falls back to'
        ),
        ('{"max_attempts": 3, "unknown": 1}', '{"max_attempts": 3}', 'a name that is no policy is dropped')
) as listed (policy, filled, promise);
select is(
    dotq.fn_kind_policy_defaults('{"max_attempts": 3.00, "backoff_jitter": 0.50, "lease_seconds": 100}')::text,
    '{"max_attempts": 3, "lease_seconds": 100, "backoff_jitter": 0.5}',
    'a whole number written with decimals loses them'
);

select * from finish();
rollback;
