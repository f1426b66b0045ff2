begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_policy_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_policy_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_policy_assert'::regproc), 'i', 'it looks at nothing but its arguments');

select lives_ok(
    $$select dotq.fn_kind_policy_assert('{
        "enabled": true, "default_priority": 5, "max_attempts": 3, "lease_seconds": 60, "backoff_strategy": "linear", "backoff_base_sec": 1,
        "backoff_cap_sec": 100, "backoff_jitter": 0.25, "on_crash": "hold", "crash_limit": 2, "dedupe": "retained",
        "payload_schema": {"type": "object"}, "max_payload_bytes": 1000, "owner_agent": "postman", "description": "sends mail"
    }')$$,
    'every policy at once passes'
);
select lives_ok($$select dotq.fn_kind_policy_assert('{}')$$, 'an empty policy passes');
select lives_ok(format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, null)), 'null is allowed: ' || name)
from dotq.fn_kind_policy_spec();
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', policy), '22023', 'policy: must be a JSON object', 'no policy: ' || coalesce(policy, 'null')
)
from unnest(array[null, 'null', '[]', '"x"', '1', 'true']) as policy;
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, 1)),
    '22023', format('policy: %L is not a policy of a kind', name), 'a name that is no policy is refused: ' || name
)
from unnest(array['', 'max_attempt', 'Enabled', 'job_kind', 'paused_at', 'registered_by', 'created_at']) as name;
select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"max_attempts": 3, "zzz_unknown": null}')$$,
    '22023', 'policy: ''zzz_unknown'' is not a policy of a kind', 'one unknown name among good ones is refused, even with a null'
);

select lives_ok(format('select dotq.fn_kind_policy_assert(%L)', format('{"%s": %s}', spec.name, edge)), format('%s may be %s', spec.name, edge))
from dotq.fn_kind_policy_spec() as spec, unnest(array[spec.minimum, spec.maximum]) as edge
where spec.json_type = 'number';
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', format('{"%s": %s}', spec.name, beyond)),
    '22023', format('policy: %s cannot be %s', spec.name, beyond), format('%s may not be %s', spec.name, beyond)
)
from dotq.fn_kind_policy_spec() as spec, unnest(array[spec.minimum - 1, spec.maximum + 1]) as beyond
where spec.json_type = 'number';
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', format('{"%s": 1.5}', name)), '22023', format('policy: %s cannot be 1.5', name), name || ' is a whole number'
)
from dotq.fn_kind_policy_spec()
where json_type = 'number' and name <> 'backoff_jitter';
select lives_ok($$select dotq.fn_kind_policy_assert('{"max_attempts": 3.0}')$$, 'a whole number may be written with decimals');
select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"backoff_jitter": 1.01}')$$, '22023', 'policy: backoff_jitter cannot be 1.01', 'jitter is a share of at most 1'
);
select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"backoff_jitter": -0.01}')$$, '22023', 'policy: backoff_jitter cannot be -0.01', 'jitter is not negative'
);

-- A value of each JSON type against each policy: only its own type may pass.
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(spec.name, given.value)),
    '22023', format('policy: %s cannot be %s', spec.name, given.value), format('%s cannot be a JSON %s', spec.name, jsonb_typeof(given.value))
)
from dotq.fn_kind_policy_spec() as spec
join unnest(array['true', '1', '"1"', '{}', '[]']::jsonb[]) as given (value) on jsonb_typeof(given.value) <> spec.json_type
order by spec.name, given.value;
select lives_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(spec.name, choice)), format('%s may be %s', spec.name, choice)
)
from dotq.fn_kind_policy_spec() as spec, unnest(spec.choices) as choice;
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, 'Fixed')),
    '22023', format('policy: %s cannot be "Fixed"', name), name || ' is one of its choices, letter by letter'
)
from dotq.fn_kind_policy_spec()
where choices is not null;
select lives_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, repeat('x', 200))), name || ' may have 200 characters'
)
from unnest(array['owner_agent', 'description']) as name;
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, repeat('x', 201))),
    '22023', format('policy: %s cannot be "%s', name, repeat('x', 99)), name || ' may not have 201, and the message stays short'
)
from unnest(array['owner_agent', 'description']) as name;
select throws_ok(
    format('select dotq.fn_kind_policy_assert(%L)', jsonb_build_object(name, ' ')),
    '22023', format('policy: %s cannot be " "', name), name || ' may not be blank'
)
from unnest(array['owner_agent', 'description']) as name;

select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"payload_schema": {"properties": {"a": {"type": "text"}}}}')$$,
    '22023',
    'policy: payload_schema: $.properties.a.type: must be object, array, string, number, integer, boolean, null, or a list of these',
    'a malformed payload schema is refused by its place'
);
select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"payload_schema": {"not": {}}}')$$,
    '22023', 'policy: payload_schema: $.not: is not a supported keyword', 'a keyword that would be ignored is refused'
);
select throws_ok(
    $$select dotq.fn_kind_policy_assert('{"payload_schema": {"$ref": "#/$defs/Gone"}}')$$,
    '22023', 'policy: payload_schema: $.$ref: points to nothing', 'a reference to nothing is refused'
);

create function pg_temp.hint(p_policy jsonb)
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    perform dotq.fn_kind_policy_assert(p_policy);
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(pg_temp.hint('[]'), 'Allowed: such as {"max_attempts": 3}.', 'the hint shows what a policy looks like');
select is(
    pg_temp.hint('{"max_attempts": 0}'), 'Allowed: a whole number from 1 to 1000, or null for the default.', 'the hint says what the policy may hold'
);
select matches(pg_temp.hint('{"x": 0}'), '^Allowed: enabled, default_priority, .*, description\.$', 'the hint lists every policy');

select * from finish();
rollback;
