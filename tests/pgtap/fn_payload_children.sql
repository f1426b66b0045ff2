begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_children'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_children'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_children'::regproc), 'i', 'it looks at nothing but its arguments');

prepare children (jsonb, jsonb) as select schema, value, path from dotq.fn_payload_children($1, $2, '$') order by path, schema;

select is_empty($$execute children('{}', '1')$$, 'a number has no parts');
select is_empty($$execute children('{"properties": {"a": {}}, "items": {}}', '"a"')$$, 'a string has no parts');
select is_empty($$execute children('{"properties": {"a": {"type": "null"}}}', '{}')$$, 'a member that is not there is no part');
select results_eq(
    $$execute children('{"properties": {"a": {"type": "null"}, "b": false}}', '{"a": 1, "b": {"c": 2}}')$$,
    $$values ('{"type": "null"}'::jsonb, '1'::jsonb, '$.a'), ('false', '{"c": 2}', '$.b')$$,
    'each member comes with its own schema and its place'
);
select results_eq(
    $$execute children('{"properties": {"a": true}, "additionalProperties": {"type": "string"}}', '{"a": 1, "b": 2}')$$,
    $$values ('true'::jsonb, '1'::jsonb, '$.a'), ('{"type": "string"}', '2', '$.b')$$,
    'a member without a schema of its own comes with that of further members'
);
select results_eq(
    $$execute children('{"properties": {"b": true}}', '{"a": 1}')$$, $$values (null::jsonb, '1'::jsonb, '$.a')$$, 'a member without any schema comes with none'
);
select results_eq(
    $$execute children('{"items": {"type": "null"}}', '[7, [8]]')$$,
    $$values ('{"type": "null"}'::jsonb, '7'::jsonb, '$[0]'), ('{"type": "null"}', '[8]', '$[1]')$$,
    'each item comes with the schema of items and its place, counted from 0'
);
select is_empty($$execute children('{"properties": {"a": {}}, "additionalProperties": false}', '[7]')$$, 'items without a schema are no parts');
select results_eq(
    $$execute children('{"allOf": [{"minimum": 1}, {"maximum": 2}]}', '7')$$,
    $$values ('{"maximum": 2}'::jsonb, '7'::jsonb, '$'), ('{"minimum": 1}', '7', '$')$$,
    'the value itself comes once for each of allOf, at its own place'
);
select is_empty($$execute children('{"anyOf": [{}], "oneOf": [{}]}', '7')$$, 'a choice is no part');
select is(
    (select path from dotq.fn_payload_children('{}', '{"b": 1}', '$.a[0]')), '$.a[0].b', 'a place continues the one given'
);

select * from finish();
rollback;
