begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_choice_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_choice_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_choice_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_choice_problem(schema::jsonb, value::jsonb, '$.a', '{"$defs": {"Text": {"type": "string"}}}'), problem, promise)
from (
    values
        ('{}', '1', null, 'without a choice there is no problem'),
        ('{"type": "string"}', '1', null, 'other keywords are not looked at here'),
        ('{"anyOf": [{"minimum": 5}, {"maximum": 1}]}', '7', null, 'anyOf: the first form fits'),
        ('{"anyOf": [{"minimum": 5}, {"maximum": 1}]}', '0', null, 'anyOf: the second form fits'),
        ('{"anyOf": [{"minimum": 5}, {"maximum": 9}]}', '7', null, 'anyOf: several forms may fit'),
        ('{"anyOf": [{"minimum": 5}, {"maximum": 1}]}', '3', '$.a: fits none of the allowed forms', 'anyOf: one form must fit'),
        ('{"oneOf": [{"minimum": 5}, {"maximum": 1}]}', '7', null, 'oneOf: the first form alone fits'),
        ('{"oneOf": [{"minimum": 5}, {"maximum": 1}]}', '0', null, 'oneOf: the second form alone fits'),
        ('{"oneOf": [{"minimum": 5}, {"maximum": 1}]}', '3', '$.a: fits 0 of the allowed forms, must fit exactly one', 'oneOf: one form must fit'),
        ('{"oneOf": [{"minimum": 5}, {"maximum": 9}, true]}', '7', '$.a: fits 3 of the allowed forms, must fit exactly one', 'oneOf: only one form may fit'),
        ('{"anyOf": [true], "oneOf": [false]}', '7', '$.a: fits 0 of the allowed forms, must fit exactly one', 'both anyOf and oneOf must be met'),
        ('{"anyOf": [false], "oneOf": [true]}', '7', '$.a: fits none of the allowed forms', 'neither excuses the other'),
        ('{"anyOf": [{"$ref": "#/$defs/Text"}]}', '"x"', null, 'anyOf: a form may be a reference into the whole schema'),
        ('{"anyOf": [{"$ref": "#/$defs/Text"}]}', '1', '$.a: fits none of the allowed forms', 'anyOf: a reference is followed'),
        ('{"oneOf": [{"$ref": "#/$defs/Text"}]}', '"x"', null, 'oneOf: a form may be a reference into the whole schema')
) as listed (schema, value, problem, promise);

select * from finish();
rollback;
