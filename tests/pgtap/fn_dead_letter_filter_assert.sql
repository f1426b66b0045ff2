begin;
select plan(25);

select lives_ok($$ select dotq.fn_dead_letter_filter_assert('{}') $$, 'an empty filter means all');
select lives_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"kind": "mail", "fingerprint": "f", "cause": "crashed", "status": "pending"}') $$,
    'kind, fingerprint, cause and status may be given together'
);
select lives_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": "x"}') $$, 'kind may be given alone');
select lives_ok($$ select dotq.fn_dead_letter_filter_assert('{"fingerprint": "x"}') $$, 'fingerprint may be given alone');
select lives_ok($$ select dotq.fn_dead_letter_filter_assert('{"cause": "x"}') $$, 'cause may be given alone');
select lives_ok($$ select dotq.fn_dead_letter_filter_assert('{"status": "x"}') $$, 'status may be given alone');
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"kind": 1}') $$, '22023', 'filter: kind cannot be 1', 'kind has to be a string'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"fingerprint": 1}') $$, '22023', 'filter: fingerprint cannot be 1', 'fingerprint has to be a string'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"cause": 1}') $$, '22023', 'filter: cause cannot be 1', 'cause has to be a string'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"status": 1}') $$, '22023', 'filter: status cannot be 1', 'status has to be a string'
);
select throws_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": null}') $$, '22023', null, 'a null is no string');
select throws_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": true}') $$, '22023', null, 'a boolean is no string');
select throws_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": []}') $$, '22023', null, 'an array is no string');
select throws_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": {}}') $$, '22023', null, 'an object is no string');
select throws_ok($$ select dotq.fn_dead_letter_filter_assert('{"kind": ["mail"]}') $$, '22023', null, 'an array with one string is no string');
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('{"kind": "mail", "Kind": "mail"}') $$, '22023', 'filter: Kind cannot be "mail"',
    'an unknown name is refused, and named'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert(jsonb_build_object('kinds', repeat('x', 200))) $$, '22023',
    'filter: kinds cannot be "' || repeat('x', 99), 'a long value is cut in the message'
);
select throws_ok($$ select dotq.fn_dead_letter_filter_assert(null) $$, '22023', 'filter: must be a JSON object', 'no filter at all is refused');
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('null') $$, '22023', 'filter: must be a JSON object', 'a JSON null is no filter'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('[]') $$, '22023', 'filter: must be a JSON object', 'an array is no filter'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('"mail"') $$, '22023', 'filter: must be a JSON object', 'a string is no filter'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('1') $$, '22023', 'filter: must be a JSON object', 'a number is no filter'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_filter_assert('true') $$, '22023', 'filter: must be a JSON object', 'a boolean is no filter'
);

-- A helper, closed to everybody.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_dead_letter_filter_assert'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_dead_letter_filter_assert', 'it runs with the rights of its caller');

select * from finish();
rollback;
