begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_schema_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_schema_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_schema_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_schema_problem(schema::jsonb), null, promise)
from (
    values
        (null, 'no schema is sound'),
        ('null', 'a null means no schema'),
        ('true', 'true is a schema'),
        ('false', 'false is a schema'),
        ('{}', 'an empty object is a schema'),
        (
            '{"title": 1, "description": 2, "default": 3, "examples": 4, "format": "email", "$schema": "x", "$id": "y", "$comment": "z", "deprecated": true, "readOnly": true, "writeOnly": true}',
            'annotations are allowed, whatever they hold'
        ),
        ('{"const": {"type": "nonsense", "not": 1}}', 'a constant is a value, not a schema'),
        ('{"enum": [{"type": "nonsense"}, null]}', 'a choice is a value, not a schema'),
        ('{"type": "object"}', 'one type is sound'),
        ('{"type": ["object", "null"]}', 'a list of types is sound'),
        ('{"properties": {"type": {"type": "string"}, "not": {}, "a": true, "b": false}}', 'a member may have the name of a keyword'),
        ('{"properties": {}, "$defs": {}, "definitions": {}, "required": []}', 'empty lists of members are sound'),
        ('{"items": {"type": "string"}, "additionalProperties": false}', 'items and further members have a schema'),
        ('{"items": true, "additionalProperties": {"items": false}}', 'or a simple yes or no'),
        ('{"anyOf": [{}], "oneOf": [true], "allOf": [{"anyOf": [false]}]}', 'choices are sound at any depth'),
        ('{"required": ["a", "b", "a"]}', 'required names members'),
        ('{"minimum": -1.5, "maximum": 1e9, "exclusiveMinimum": 0, "exclusiveMaximum": 1}', 'limits are numbers of any kind'),
        ('{"minLength": 0, "maxLength": 999999999, "minItems": 1, "maxItems": 2, "minProperties": 3, "maxProperties": 4}', 'sizes are whole numbers'),
        ('{"uniqueItems": true, "pattern": "^[a-z]+$"}', 'uniqueItems and pattern are sound'),
        ('{"$ref": "#/$defs/A-b c", "$defs": {"A-b c": {}}}', 'a reference into $defs is sound'),
        ('{"$ref": "#/definitions/A", "definitions": {"A": {}}}', 'a reference into definitions is sound')
) as listed (schema, promise);
select is(dotq.fn_payload_schema_problem(schema::jsonb), problem, promise)
from (
    values
        ('[]', '$: a schema is an object, true or false, not a array', 'a list is no schema'),
        ('"object"', '$: a schema is an object, true or false, not a string', 'a string is no schema'),
        ('1', '$: a schema is an object, true or false, not a number', 'a number is no schema'),
        ('{"type": "text"}', '$.type: must be object, array, string, number, integer, boolean, null, or a list of these', 'an unknown type is refused'),
        ('{"Type": "object"}', '$.Type: is not a supported keyword', 'capitals matter'),
        ('{"pattern": "("}', '$.pattern: is not a regular expression of PostgreSQL', 'a broken pattern is refused'),
        ('{"pattern": 1}', '$.pattern: must be a regular expression of at most 500 characters', 'a pattern is a text'),
        ('{"required": "a"}', '$.required: must be a list of names', 'required is a list'),
        ('{"required": ["a", 1]}', '$.required: must be a list of names', 'required is a list of names only'),
        ('{"required": {}}', '$.required: must be a list of names', 'required is no object'),
        ('{"enum": []}', '$.enum: must be a list of values', 'a choice has choices'),
        ('{"enum": 1}', '$.enum: must be a list of values', 'a choice is a list'),
        ('{"uniqueItems": 1}', '$.uniqueItems: must be true or false', 'uniqueItems is true or false'),
        ('{"uniqueItems": null}', '$.uniqueItems: must be true or false', 'uniqueItems is not null'),
        ('{"properties": {"a": {"items": {"anyOf": [{}, {"x": 1}]}}}}', '$.properties.a.items.anyOf.1.x: is not a supported keyword', 'the place is named, however deep'),
        ('{"properties": {"a": {"x": 1}, "b": {}}}', '$.properties.a.x: is not a supported keyword', 'a sound schema does not excuse the one before it'),
        ('{"anyOf": [{"x": 1}, {}]}', '$.anyOf.0.x: is not a supported keyword', 'nor a sound form'),
        ('{"properties": {"a": null}}', '$.properties.a: a schema is an object, true or false, not a null', 'a member has a schema, not a null'),
        ('{"properties": {"a": 5}}', '$.properties.a: a schema is an object, true or false, not a number', 'a member has a schema, not a number'),
        ('{"additionalProperties": {"x": 1}}', '$.additionalProperties.x: is not a supported keyword', 'the schema of further members is looked at'),
        ('{"$defs": {"A": {"x": 1}}}', '$.$defs.A.x: is not a supported keyword', 'definitions are looked at'),
        ('{"definitions": {"A": {"x": 1}}}', '$.definitions.A.x: is not a supported keyword', 'older definitions are looked at'),
        ('{"oneOf": [{"x": 1}]}', '$.oneOf.0.x: is not a supported keyword', 'the forms of oneOf are looked at'),
        ('{"allOf": [true, 7]}', '$.allOf.1: a schema is an object, true or false, not a number', 'the parts of allOf are schemas'),
        ('{"$ref": "#/$defs/Gone"}', '$.$ref: points to nothing', 'a reference to nothing is refused'),
        ('{"$defs": {"A": {"$ref": "#/$defs/A"}}}', '$.$defs.A.$ref: leads back to itself without end', 'a reference without end is refused')
) as listed (schema, problem, promise);
select is(dotq.fn_payload_schema_problem(jsonb_build_object(keyword, 1)), format('$.%s: is not a supported keyword', keyword), 'would be ignored, so is refused: ' || keyword)
from unnest(array[
    'not', 'if', 'then', 'else', 'patternProperties', 'propertyNames', 'dependencies', 'dependentRequired', 'dependentSchemas', 'contains', 'minContains',
    'maxContains', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'unevaluatedProperties', 'multipleOf', '$anchor', '$dynamicRef', 'nullable', ''
]) as keyword;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object(keyword, value)),
    format('$.%s: must be an object of schemas', keyword),
    format('%s cannot be %s', keyword, value)
)
from unnest(array['properties', '$defs', 'definitions']) as keyword, unnest(array['null', 'true', '1', '"x"', '[]']::jsonb[]) as value;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object(keyword, value)), format('$.%s: must be a schema', keyword), format('%s cannot be %s', keyword, value)
)
from unnest(array['items', 'additionalProperties']) as keyword, unnest(array['null', '1', '"x"', '[]', '[{}]']::jsonb[]) as value;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object(keyword, value)), format('$.%s: must be a list of schemas', keyword), format('%s cannot be %s', keyword, value)
)
from unnest(array['anyOf', 'oneOf', 'allOf']) as keyword, unnest(array['null', '1', '"x"', '[]', '{}']::jsonb[]) as value;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object(keyword, value)), format('$.%s: must be a number', keyword), format('%s cannot be %s', keyword, value)
)
from unnest(array['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) as keyword, unnest(array['null', 'true', '"1"', '[]', '{}']::jsonb[]) as value;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object(keyword, value)), format('$.%s: must be a whole number from 0', keyword), format('%s cannot be %s', keyword, value)
)
from unnest(array['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']) as keyword,
    unnest(array['null', 'true', '"1"', '-1', '1.5', '1.0', '1000000000', '[]', '{}']::jsonb[]) as value;
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object('$ref', value)), '$.$ref: must point into $defs, as in #/$defs/Name', 'a reference cannot be ' || value::text
)
from unnest(array[
    'null', '1', 'true', '{}', '[]', '""', '"#"', '"#/"', '"#/$defs"', '"#/$defs/"', '"#/$defs/A/properties/b"', '"#/$defs/a~1b"', '"#/$defs/a%20b"',
    '"#/properties/a"', '"$defs/A"', '"other.json#/$defs/A"', '"https://example.com/schema"'
]::jsonb[]) as value;

select is(
    dotq.fn_payload_schema_problem(jsonb_build_object('title', repeat('x', 65536 - 13))), null, 'a schema may have 65536 bytes'
);
select is(
    dotq.fn_payload_schema_problem(jsonb_build_object('title', repeat('x', 65536 - 12))),
    'is too large: allowed are 65536 bytes and 32 levels',
    'a schema may not have one byte more'
);
select is(dotq.fn_payload_schema_problem((repeat('{"items": ', 32) || 'true' || repeat('}', 32))::jsonb), null, 'a schema may have 32 levels');
select is(
    dotq.fn_payload_schema_problem((repeat('{"items": ', 33) || 'true' || repeat('}', 33))::jsonb),
    'is too large: allowed are 65536 bytes and 32 levels',
    'a schema may not have one level more'
);

select * from finish();
rollback;
