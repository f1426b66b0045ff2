begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_problem'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator'],
    'only producers, workers and operators may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_problem'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_problem'::regproc), 'i', 'it looks at nothing but its arguments');

-- One row: a schema, values that fit it, values that do not.
create temp table keyword (schema jsonb, fits jsonb, fails jsonb);
insert into keyword
values
    ('true', '[null, true, 0, "", [], {}]', '[]'),
    ('null', '[null, true, 0, "", [], {}]', '[]'),
    ('{}', '[null, true, 0, "", [], {}]', '[]'),
    ('false', '[]', '[null, true, 0, "", [], {}]'),
    ('{"type": "null"}', '[null]', '[false, 0, "", "null", [], {}]'),
    ('{"type": "boolean"}', '[true, false]', '[null, 0, 1, "true", [], {}]'),
    ('{"type": "number"}', '[0, -1, 1.5, 1e300, 1.0]', '[null, true, "1", [], {}]'),
    ('{"type": "integer"}', '[0, -1, 1.0, 1e20, 123456789012345678901234567890]', '[0.5, -1.000001, null, true, "1", [1], {}]'),
    ('{"type": "string"}', '["", "x", "1"]', '[null, true, 1, [], {}]'),
    ('{"type": "array"}', '[[], [1], [[]]]', '[null, true, 1, "[]", {}]'),
    ('{"type": "object"}', '[{}, {"a": 1}]', '[null, true, 1, "{}", []]'),
    ('{"type": ["integer", "null"]}', '[1, 2.0, null]', '[1.5, "1", true, [], {}]'),
    ('{"type": ["object"]}', '[{}]', '[[], null]'),
    ('{"enum": [1, "a", null, [1, 2], {"b": true}]}', '[1, 1.0, "a", null, [1, 2], {"b": true}]', '[2, "A", "1", true, false, [2, 1], [1], {"b": 1}, {}]'),
    ('{"const": 5}', '[5, 5.0]', '[4, "5", [5], null]'),
    ('{"const": null}', '[null]', '[0, "", false, [], {}]'),
    ('{"const": {"a": [1]}}', '[{"a": [1]}, {"a": [1.0]}]', '[{"a": 1}, {"a": [1], "b": 2}, {}]'),
    ('{"const": false}', '[false]', '[true, 0, null]'),
    ('{"minimum": 3}', '[3, 3.0, 3.001, 4, 1e300, "2", null, [1], {}]', '[2.999, 2, 0, -3]'),
    ('{"maximum": 3}', '[3, 2.999, -1e300, "4", true]', '[3.001, 4]'),
    ('{"exclusiveMinimum": 3}', '[3.001, 4, "3"]', '[3, 3.0, 2.999]'),
    ('{"exclusiveMaximum": 3}', '[2.999, 2, "3"]', '[3, 3.0, 3.001]'),
    ('{"minimum": 1, "maximum": 2}', '[1, 1.5, 2]', '[0, 3]'),
    ('{"minimum": -0.5}', '[-0.5, 0]', '[-0.51]'),
    ('{"minLength": 2}', '["ab", "abc", "é€", "😀😀", 1, [], null]', '["", "a", "😀"]'),
    ('{"maxLength": 2}', '["", "ab", "😀😀", 123, [1, 2, 3]]', '["abc", "😀😀😀"]'),
    ('{"minLength": 0, "maxLength": 0}', '[""]', '["a", " "]'),
    ('{"pattern": "b+"}', '["b", "abbc", 1, null, ["a"]]', '["", "a", "B"]'),
    ('{"pattern": "^[a-z]{2}$"}', '["ab"]', '["abc", "a", "ab\n", "xx ab"]'),
    ('{"minItems": 2}', '[[1, 1], [1, 2, 3], "a", {"a": 1}]', '[[], [1]]'),
    ('{"maxItems": 2}', '[[], [1, 2], "abc", {"a": 1, "b": 2, "c": 3}]', '[[1, 2, 3]]'),
    ('{"uniqueItems": true}', '[[], [1], [1, "1", true, null, [1], {"a": 1}], "aa", [[1, 2], [2, 1]]]', '[[1, 1], [1, 2, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [null, null], [[], []]]'),
    ('{"uniqueItems": false}', '[[1, 1]]', '[]'),
    ('{"required": ["a", "b"]}', '[{"a": 1, "b": null}, {"a": 1, "b": 2, "c": 3}, [], "a", null]', '[{}, {"a": 1}, {"b": 1}, {"A": 1, "b": 2}]'),
    ('{"required": []}', '[{}]', '[]'),
    ('{"minProperties": 1}', '[{"a": 1}, {"a": 1, "b": 2}, [], ""]', '[{}]'),
    ('{"maxProperties": 1}', '[{}, {"a": 1}, [1, 2]]', '[{"a": 1, "b": 2}]'),
    ('{"properties": {"a": {"type": "string"}, "b": false}}', '[{}, {"a": "x"}, {"c": 1}, [1], 1]', '[{"a": 1}, {"a": null}, {"b": 1}, {"a": "x", "b": null}]'),
    ('{"properties": {"a": {"properties": {"b": {"type": "null"}}}}}', '[{"a": {"b": null}}, {"a": 1}, {"a": {"c": 1}}]', '[{"a": {"b": 0}}]'),
    ('{"additionalProperties": false}', '[{}, [], 1]', '[{"a": 1}]'),
    ('{"properties": {"a": {}}, "additionalProperties": false}', '[{}, {"a": 1}]', '[{"b": 1}, {"a": 1, "b": 1}]'),
    ('{"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}}', '[{"a": null, "b": 1}, {"c": 2}]', '[{"a": 1}, {"b": null}, {"a": null, "b": "x"}]'),
    ('{"allOf": [{"properties": {"a": {}}}], "additionalProperties": false}', '[{}]', '[{"a": 1}]'),
    ('{"items": {"type": "integer"}}', '[[], [1, 2], "x", {"a": "x"}]', '[["x"], [1, "x"], [1, 2, null]]'),
    ('{"items": false}', '[[], {}]', '[[1]]'),
    ('{"items": {"items": {"maximum": 1}}}', '[[[1], [0]], [[], 5]]', '[[[1], [0, 2]]]'),
    ('{"anyOf": [{"type": "string"}, {"minimum": 5}]}', '["x", 5, null, []]', '[4]'),
    ('{"oneOf": [{"type": "integer"}, {"minimum": 5}]}', '[1, 5.5, "x"]', '[5, 1.5]'),
    ('{"allOf": [{"minimum": 1}, {"maximum": 3}]}', '[1, 3, "x"]', '[0, 4]'),
    ('{"allOf": [true, {"anyOf": [{"const": 1}, {"const": 2}]}], "maximum": 1}', '[1]', '[2, 3]'),
    ('{"properties": {"a": {"anyOf": [{"type": "null"}, {"items": {"type": "string"}}]}}}', '[{"a": null}, {"a": ["x"]}]', '[{"a": [1]}]'),
    ('{"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}', '["x"]', '[1, null]'),
    ('{"$ref": "#/definitions/A", "definitions": {"A": {"type": "string"}}}', '["x"]', '[1]'),
    ('{"$ref": "#/$defs/A", "maxLength": 2, "$defs": {"A": {"minLength": 1}}}', '["x", "xx"]', '["", "xxx"]'),
    ('{"properties": {"a": {"items": {"$ref": "#/$defs/A"}}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"const": 1}}}', '[{"a": [1, 1]}, {"a": []}]', '[{"a": [1, 2]}]'),
    ('{"anyOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"const": 1}}}', '[1]', '[2]'),
    (
        '{"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "kids": {"items": {"$ref": "#/$defs/Tree"}}}}}}',
        '[{"n": 1}, {"n": 1, "kids": [{"n": 2}, {"n": 3, "kids": [{"n": 4}]}]}]',
        '[{}, {"n": 1, "kids": [{"n": 2}, {"n": 3, "kids": [{"n": "4"}]}]}, {"n": 1, "kids": [1]}]'
    ),
    ('{"title": "t", "description": "d", "default": 1, "examples": [], "format": "email", "$comment": "c"}', '[null, 1, "no email", {}]', '[]'),
    ('{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "minProperties": 2}', '[{"a": 1, "b": 2}]', '[{"a": 1}, {"b": 1, "c": 2}, [], {"a": "1", "b": 2}]');

select is(dotq.fn_payload_problem(schema, value), null, format('%s takes %s', schema, value))
from keyword, jsonb_array_elements(fits) as value;
select isnt(dotq.fn_payload_problem(schema, value), null, format('%s refuses %s', schema, value))
from keyword, jsonb_array_elements(fails) as value;
select is_empty(
    'select schema, dotq.fn_payload_schema_problem(schema) from keyword where dotq.fn_payload_schema_problem(schema) is not null',
    'every schema here is one that a kind may have'
);

select is(dotq.fn_payload_problem(schema::jsonb, value::jsonb), problem, promise)
from (
    values
        (null, '1', null, 'no schema takes anything'),
        ('{"type": "object"}', null, '$: must be object, not null', 'no value is a null'),
        ('{"type": "null"}', null, null, 'and fits where a null fits'),
        ('{"properties": {"a": {"items": {"properties": {"b": {"maximum": 1}}}}}}', '{"a": [{"b": 1}, {"b": 2}]}', '$.a[1].b: must be at most 1', 'the place is named, however deep'),
        ('{"additionalProperties": false}', '{"extra": 1}', '$.extra: is not allowed', 'a member too many is named'),
        ('{"anyOf": [{"type": "string"}]}', '1', '$: fits none of the allowed forms', 'a choice that fails is told'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {"required": ["a"]}}}', '{}', '$: a is required', 'what a reference refuses is told in its words'),
        ('{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}', '{"a": 1, "b": 2}', '$.a: must be string, not number', 'the first problem is told'),
        ('{"type": "object", "properties": {"a": false}}', '[]', '$: must be object, not array', 'the value itself comes before its parts')
) as listed (schema, value, problem, promise);
select is(
    dotq.fn_payload_problem('{"additionalProperties": {"type": "integer"}}', jsonb_build_object(repeat('.', 300), 1)), null, 'a key may be full of dots'
);
select is(
    dotq.fn_payload_problem(
        '{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}, "additionalProperties": false}}}',
        (repeat('{"a": ', 63) || '{"b": 1}' || repeat('}', 63))::jsonb
    ),
    '$' || repeat('.a', 63) || '.b: is not allowed',
    'a value of 64 levels is followed to its end'
);
select is(dotq.fn_payload_problem('{"type": "string"}', '1', '$.here'), '$.here: must be string, not number', 'a caller may name the place');
select is(
    dotq.fn_payload_problem('{"$ref": "#/$defs/A"}', '1', '$', '{"$defs": {"A": {"type": "string"}}}'), '$: must be string, not number', 'a caller may name the whole schema'
);
select throws_ok($$select dotq.fn_payload_problem('{"minLength": "x"}', '1')$$, '22023', 'schema: $.minLength: must be a whole number from 0', 'a schema that is malformed is refused');
select throws_ok($$select dotq.fn_payload_problem('{"$ref": "#/$defs/Gone"}', '1')$$, '22023', 'schema: $.$ref: points to nothing', 'so is a reference to nothing');
select throws_ok(
    $$select dotq.fn_payload_problem('{"$ref": "#/$defs/A"}', '1', '$', '{"$defs": {"A": {"$ref": "#/$defs/A"}}}')$$,
    '22023', null, 'and a reference that leads back to itself, wherever it is defined'
);
select throws_ok($$select dotq.fn_payload_problem('true', (repeat('[', 66) || repeat(']', 66))::jsonb)$$, '22023', 'value: is nested too deeply', 'a value that no job may have is refused');
select lives_ok($$select dotq.fn_payload_problem('true', (repeat('[', 65) || repeat(']', 65))::jsonb)$$, 'one level less is not');

create function pg_temp.asked_by(p_role text)
returns text
language plpgsql
as $fn$
begin
    perform set_config('role', p_role, true);
    return dotq.fn_payload_problem('{"anyOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string"}}}', '{"a": [1]}');
end
$fn$;

grant execute on function pg_temp.asked_by to public;
select is(pg_temp.asked_by('dotq_producer'), '$: fits none of the allowed forms', 'a producer can check a payload before sending it');
reset role;
select is(pg_temp.asked_by('dotq_worker'), '$: fits none of the allowed forms', 'a worker can check a payload before running it');
reset role;

select * from finish();
rollback;
