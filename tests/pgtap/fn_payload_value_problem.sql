begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_value_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_value_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_value_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_value_problem(schema::jsonb, value::jsonb, '$.a'), problem, promise)
from (
    values
        ('{}', '1', null, 'an empty schema takes anything'),
        ('{"type": "number"}', '"x"', '$.a: must be number, not string', 'the place is the one given'),
        ('{"type": ["string", "null"]}', '1', '$.a: must be string or null, not number', 'several types are named'),
        ('{"enum": [1, "b"]}', '2', '$.a: must be one of [1, "b"]', 'the choices are named'),
        ('{"const": {"b": 1}}', '2', '$.a: must be {"b": 1}', 'the constant is named'),
        ('{"minimum": 3}', '2', '$.a: must be at least 3', 'the smallest number is named'),
        ('{"maximum": 3}', '4', '$.a: must be at most 3', 'the largest number is named'),
        ('{"exclusiveMinimum": 3}', '3', '$.a: must be greater than 3', 'the number it must exceed is named'),
        ('{"exclusiveMaximum": 3}', '3', '$.a: must be less than 3', 'the number it must stay below is named'),
        ('{"minLength": 3}', '"ab"', '$.a: must have at least 3 characters', 'the least length is named'),
        ('{"maxLength": 3}', '"abcd"', '$.a: must have at most 3 characters', 'the greatest length is named'),
        ('{"pattern": "^x"}', '"y"', '$.a: must match ^x', 'the pattern is named'),
        ('{"minItems": 1}', '[]', '$.a: must have at least 1 items', 'the least number of items is named'),
        ('{"maxItems": 1}', '[1, 2]', '$.a: must have at most 1 items', 'the greatest number of items is named'),
        ('{"uniqueItems": true}', '[1, 1]', '$.a: must not repeat an item', 'a repeated item is told'),
        ('{"required": ["b"]}', '{}', '$.a: b is required', 'the missing member is named'),
        ('{"minProperties": 1}', '{}', '$.a: must have at least 1 members', 'the least number of members is named'),
        ('{"maxProperties": 1}', '{"b": 1, "c": 2}', '$.a: must have at most 1 members', 'the greatest number of members is named'),
        ('{"properties": {"b": false}, "additionalProperties": false, "items": false}', '{"b": 1, "c": 2}', null, 'members are not looked at here'),
        ('{"items": false}', '[1]', null, 'items are not looked at here'),
        ('{"allOf": [false], "anyOf": [false], "oneOf": [false], "$ref": "#/$defs/Gone"}', '1', null, 'choices and references are not looked at here')
) as listed (schema, value, problem, promise);
select is(
    dotq.fn_payload_value_problem(jsonb_build_object('enum', jsonb_build_array(repeat('x', 1000))), '1', '$'),
    '$: must be one of ["' || repeat('x', 298),
    'a long list of choices is cut'
);
select is(
    dotq.fn_payload_value_problem(jsonb_build_object('const', repeat('x', 1000)), '1', '$'), '$: must be "' || repeat('x', 299), 'a long constant is cut'
);
select is(dotq.fn_payload_value_problem(schema::jsonb, value::jsonb, '$'), null, promise)
from (
    values
        ('{"type": "integer"}', '2.0', 'a whole number is an integer, however it is written'),
        ('{"type": "integer"}', '-7', 'a negative whole number is an integer'),
        ('{"type": ["string", "integer"]}', '7', 'one of several types is enough'),
        ('{"type": ["string", "integer"]}', '"x"', 'whichever it is'),
        ('{"enum": [1, "b"]}', '"b"', 'any of the choices fits'),
        ('{"const": 1}', '1.0', 'equal numbers are the same constant'),
        ('{"minimum": 3}', '3', 'the smallest number fits'),
        ('{"maximum": 3}', '3', 'the largest number fits'),
        ('{"exclusiveMinimum": 3}', '3.01', 'just above fits'),
        ('{"exclusiveMaximum": 3}', '2.99', 'just below fits'),
        ('{"minLength": 3}', '"abc"', 'the least length fits'),
        ('{"maxLength": 3}', '"abc"', 'the greatest length fits'),
        ('{"pattern": "^x"}', '"xy"', 'what matches fits'),
        ('{"minItems": 1}', '[1]', 'the least number of items fits'),
        ('{"maxItems": 1}', '[1]', 'the greatest number of items fits'),
        ('{"uniqueItems": true}', '[1, 2]', 'different items fit'),
        ('{"uniqueItems": false}', '[1, 1]', 'items may repeat unless told otherwise'),
        ('{"required": ["b", "c"]}', '{"b": null, "c": 1}', 'a required member may be null'),
        ('{"minProperties": 1}', '{"b": 1}', 'the least number of members fits'),
        ('{"maxProperties": 1}', '{"b": 1}', 'the greatest number of members fits'),
        ('{"minimum": 3, "minLength": 3, "minItems": 3, "minProperties": 3, "required": ["b"]}', 'true', 'limits of another type do not count')
) as listed (schema, value, promise);
select is(dotq.fn_payload_value_problem(schema::jsonb, value::jsonb, '$'), problem, promise)
from (
    values
        ('{"type": "integer"}', '2.5', '$: must be integer, not number', 'a fraction is no integer'),
        ('{"type": "integer"}', '"2"', '$: must be integer, not string', 'a string of digits is no integer'),
        ('{"type": "string"}', '2', '$: must be string, not number', 'a whole number is an integer only where one is asked for'),
        ('{"required": ["b", "c"]}', '{"b": 1}', '$: c is required', 'what is there is not called missing')
) as listed (schema, value, problem, promise);

select * from finish();
rollback;
