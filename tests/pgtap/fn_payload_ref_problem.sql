begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_ref_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_ref_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_ref_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_ref_problem(schema::jsonb), null, promise)
from (
    values
        ('{}', 'a schema without references is sound'),
        ('true', 'true is sound'),
        (null, 'no schema is sound'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {}}}', 'a reference into $defs is sound'),
        ('{"$ref": "#/definitions/A", "definitions": {"A": false}}', 'a reference into definitions is sound'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/C"}, "C": {}}}', 'a chain that ends is sound'),
        ('{"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {}}}', 'two references to one place are sound'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"next": {"$ref": "#/$defs/A"}}}}}', 'a list of members may refer to itself'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}', 'a list of items may refer to itself'),
        ('{"$ref": "#/$defs/A", "$defs": {"A": {"additionalProperties": {"$ref": "#/$defs/A"}}}}', 'a tree of any keys may refer to itself'),
        (
            '{"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"type": "null"}, {"properties": {"left": {"$ref": "#/$defs/A"}, "right": {"$ref": "#/$defs/A"}}}]}}}',
            'a tree behind a choice may refer to itself'
        ),
        ('{"properties": {"$ref": {"type": "string"}}}', 'a member that is called $ref is none'),
        ('{"const": {"$ref": "#/$defs/Gone"}, "default": {"$ref": "#/$defs/Gone"}, "enum": [{"$ref": "#/$defs/Gone"}]}', 'a value that looks like a reference is none')
) as listed (schema, promise);
select is(dotq.fn_payload_ref_problem(schema::jsonb), problem, promise)
from (
    values
        ('{"$ref": "#/$defs/A"}', '$.$ref: points to nothing', 'there are no definitions at all'),
        ('{"$ref": "#/$defs/a", "$defs": {"A": {}}}', '$.$ref: points to nothing', 'capitals matter'),
        ('{"$ref": "#/definitions/A", "$defs": {"A": {}}}', '$.$ref: points to nothing', '$defs and definitions are two places'),
        ('{"properties": {"a": {"$ref": "#/$defs/A"}}}', '$.properties.a.$ref: points to nothing', 'a reference in a member is followed'),
        ('{"items": {"$ref": "#/$defs/A"}}', '$.items.$ref: points to nothing', 'a reference in items is followed'),
        ('{"additionalProperties": {"$ref": "#/$defs/A"}}', '$.additionalProperties.$ref: points to nothing', 'a reference in further members is followed'),
        ('{"anyOf": [{}, {"$ref": "#/$defs/A"}]}', '$.anyOf.1.$ref: points to nothing', 'a reference in anyOf is followed'),
        ('{"oneOf": [{"$ref": "#/$defs/A"}]}', '$.oneOf.0.$ref: points to nothing', 'a reference in oneOf is followed'),
        ('{"allOf": [{"$ref": "#/$defs/A"}]}', '$.allOf.0.$ref: points to nothing', 'a reference in allOf is followed'),
        ('{"$defs": {"A": {"$ref": "#/$defs/B"}}}', '$.$defs.A.$ref: points to nothing', 'a reference in a definition is followed'),
        ('{"definitions": {"A": {"$ref": "#/$defs/B"}}}', '$.definitions.A.$ref: points to nothing', 'a reference in an older definition is followed'),
        ('{"$defs": {"A": {"$ref": "#/$defs/A"}}}', '$.$defs.A.$ref: leads back to itself without end', 'a definition is not itself'),
        (
            '{"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/C"}, "C": {"$ref": "#/$defs/A"}}}',
            '$.$defs.A.$ref: leads back to itself without end',
            'a ring of definitions has no end'
        ),
        (
            '{"$defs": {"A": {"anyOf": [{"type": "null"}, {"allOf": [{"$ref": "#/$defs/B"}]}]}, "B": {"oneOf": [{"$ref": "#/$defs/A"}]}}}',
            '$.$defs.A.anyOf.1.allOf.0.$ref: leads back to itself without end',
            'a ring through choices has no end either'
        )
) as listed (schema, problem, promise);

select * from finish();
rollback;
