begin;
select plan(11);

select is(dotq.fn_payload_part_problem(null, '1', '$', '{}'), null, 'no schema takes anything');
select is(dotq.fn_payload_part_problem('true', '1', '$', '{}'), null, 'true takes anything');
select is(dotq.fn_payload_part_problem('false', '1', '$.a', '{}'), '$.a: is not allowed', 'false takes nothing, and names the place');
select is(dotq.fn_payload_part_problem('{"type": "string"}', '1', '$.a', '{}'), '$.a: must be string, not number', 'the value itself is looked at');
select is(dotq.fn_payload_part_problem('{"type": "string"}', null, '$', '{}'), '$: must be string, not null', 'a missing value counts as null');
select is(
    dotq.fn_payload_part_problem('{"properties": {"b": {"type": "string"}}}', '{"b": 1}', '$.a', '{}'), '$.a.b: must be string, not number', 'its parts are looked at, and named'
);
select is(
    dotq.fn_payload_part_problem('{"$ref": "#/$defs/A"}', '1', '$', '{"$defs": {"A": {"type": "string"}}}'), '$: must be string, not number', 'a reference is looked up in the whole schema'
);
select is(
    dotq.fn_payload_part_problem('{"items": {"$ref": "#/$defs/A"}}', '[1]', '$', '{"$defs": {"A": {"type": "string"}}}'), '$[0]: must be string, not number', 'also from inside a part'
);
select is(dotq.fn_payload_part_problem('{"$ref": "#/$defs/Gone"}', '1', '$', '{}'), '$: is not allowed', 'a reference to nothing takes nothing');
select is(
    dotq.fn_payload_part_problem('{"anyOf": [{"$ref": "#/$defs/A"}]}', '1', '$', '{"$defs": {"A": {"type": "string"}}}'), '$: fits none of the allowed forms', 'choices are looked at last'
);
select is(
    (select count(*) from unnest(array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader', 'public']) as role where has_function_privilege(role, 'dotq.fn_payload_part_problem(jsonb, jsonb, text, jsonb)', 'execute')),
    0::bigint, 'nobody calls it from outside'
);

select * from finish();
rollback;
