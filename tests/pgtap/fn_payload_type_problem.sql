begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_type_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_type_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_type_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_type_problem(to_jsonb(name)), null, 'a value may be of type ' || name)
from unnest(array['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']) as name;
select is(
    dotq.fn_payload_type_problem('["object", "array", "string", "number", "integer", "boolean", "null"]'), null, 'a value may be of any of several types'
);
select is(
    dotq.fn_payload_type_problem(value::jsonb),
    'must be object, array, string, number, integer, boolean, null, or a list of these',
    'not a type: ' || coalesce(value, 'nothing')
)
from unnest(array['"text"', '"Object"', '""', '[]', '["object", "text"]', '["object", null]', '[["object"]]', 'null', 'true', '1', '{}', '{"object": 1}', null]) as value;

select * from finish();
rollback;
