begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_json_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_json_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_json_assert'::regproc), 'i', 'it looks at nothing but its arguments');

-- A number inside so many arrays.
create function pg_temp.nested(p_levels integer)
returns jsonb
language sql
as $fn$
select (repeat('[', p_levels) || '1' || repeat(']', p_levels))::jsonb
$fn$;

select lives_ok($$select dotq.fn_json_assert('payload_json', null, 10)$$, 'null passes');
select lives_ok($$select dotq.fn_json_assert('payload_json', '{}', 2)$$, 'an empty object passes');
select throws_ok($$select dotq.fn_json_assert('payload_json', '[]', 100)$$, '22023', 'payload_json: is a JSON array', 'a list is no object');
select throws_ok($$select dotq.fn_json_assert('payload_json', '"x"', 100)$$, '22023', 'payload_json: is a JSON string', 'a string is no object');
select throws_ok($$select dotq.fn_json_assert('payload_json', '1', 100)$$, '22023', 'payload_json: is a JSON number', 'a number is no object');
select throws_ok($$select dotq.fn_json_assert('payload_json', 'true', 100)$$, '22023', 'payload_json: is a JSON boolean', 'true is no object');
select throws_ok($$select dotq.fn_json_assert('payload_json', 'null', 100)$$, '22023', 'payload_json: is a JSON null', 'a JSON null is no object');
select lives_ok(
    format('select dotq.fn_json_assert(''result'', %L, 100, false)', value), 'any JSON passes where no object is asked for: ' || value
)
from unnest(array['[]', '"x"', '1', 'true', 'null', '{}']) as value;

select lives_ok($$select dotq.fn_json_assert('payload_json', '{"a": "xxxx"}', 13)$$, 'exactly the allowed size passes');
select throws_ok($$select dotq.fn_json_assert('payload_json', '{"a": "xxxxx"}', 13)$$, '22023', 'payload_json: is 14 bytes long', 'one byte more is refused');
select lives_ok($$select dotq.fn_json_assert('payload_json', '{"a":"xxxx"}', 13)$$, 'size is that of the stored text, not of the sender''s blanks');
select throws_ok($$select dotq.fn_json_assert('payload_json', '{"a": "éééé"}', 13)$$, '22023', 'payload_json: is 17 bytes long', 'size is counted in bytes');
select throws_ok($$select dotq.fn_json_assert('result', '"xxxx"', 5, false)$$, '22023', 'result: is 6 bytes long', 'a value that is no object has a limit too');

select lives_ok($$select dotq.fn_json_assert('result', pg_temp.nested(64), 1000, false)$$, '64 levels pass');
select throws_ok(
    $$select dotq.fn_json_assert('result', pg_temp.nested(65), 1000, false)$$, '22023', 'result: is nested too deeply', '65 levels are refused'
);
select throws_ok(
    $$select dotq.fn_json_assert('payload_json', jsonb_build_object('a', pg_temp.nested(64)), 1000)$$,
    '22023', 'payload_json: is nested too deeply', 'the object itself is a level'
);
select throws_ok(
    $$select dotq.fn_json_assert('result', pg_temp.nested(1000), 10000, false)$$, '22023', 'result: is nested too deeply', 'a thousand levels are refused as well'
);

select lives_ok($$select dotq.fn_json_assert('payload_json', '{"a": [1e308, -1e308, 0, 1e-400]}', 2000)$$, 'every number that a double holds passes');
select throws_ok(
    $$select dotq.fn_json_assert('payload_json', '{"a": [{"b": 1.1e308}]}', 1000)$$,
    '22023', 'payload_json: holds a number that no double can hold', 'a number too large for a double is refused at any depth'
);
select throws_ok(
    $$select dotq.fn_json_assert('payload_json', '{"a": -1.1e308}', 1000)$$,
    '22023', 'payload_json: holds a number that no double can hold', 'a number too small for a double is refused'
);
select lives_ok($$select dotq.fn_json_assert('payload_json', '{"a": "1e999"}', 1000)$$, 'a large number written as a string passes');

select throws_ok(
    format('select dotq.fn_json_assert(''payload_json'', %L, 1000)', jsonb_build_object(key, 1)),
    '22023', format('payload_json: the key %s is not allowed', key), 'the key is denied: ' || key
)
from unnest(array['body', 'content', 'raw', 'vector', 'embedding', 'secret', 'token', 'password', 'ssn', 'personal_data']) as key;
select throws_ok(
    $$select dotq.fn_json_assert('metadata', '{"a": [1, {"b": {"Password": null}}]}', 1000)$$,
    '22023', 'metadata: the key "Password" is not allowed', 'a denied key is found at any depth, in any letter case, and named'
);
select throws_ok(
    $$select dotq.fn_json_assert('result', '[[{" token ": 1}]]', 1000, false)$$,
    '22023', 'result: the key " token " is not allowed', 'blanks around a denied key do not hide it'
);
select lives_ok(
    $$select dotq.fn_json_assert('payload_json', '{"tokens": 1, "access_token": 2, "name": "password", "list": ["secret"]}', 1000)$$,
    'a denied word inside a longer key, or as a value, passes'
);
select throws_ok(
    $$select dotq.fn_json_assert('payload_json', '{"password": "x"}', 5)$$, '22023', 'payload_json: is 17 bytes long', 'size is looked at before content'
);

create function pg_temp.hint(p_statement text)
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    execute p_statement;
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(
    pg_temp.hint($$select dotq.fn_json_assert('result', '[]', 10)$$),
    'Allowed: a JSON object.',
    'the hint says which type is allowed'
);
select is(
    pg_temp.hint($$select dotq.fn_json_assert('result', '{"a": 1}', 2)$$),
    'Allowed: 2 bytes. Keep large input elsewhere and point to it with payload_ref.',
    'the hint says which size is allowed and what to do'
);
select is(
    pg_temp.hint($$select dotq.fn_json_assert('result', pg_temp.nested(65), 1000, false)$$),
    'Allowed: 64 levels.',
    'the hint says which depth is allowed'
);
select is(
    pg_temp.hint($$select dotq.fn_json_assert('result', '{"a": 1e309}', 1000)$$),
    'Allowed: -1e308 to 1e308; write larger numbers as strings.',
    'the hint says which numbers are allowed'
);
select is(
    pg_temp.hint($$select dotq.fn_json_assert('result', '{"raw": 1}', 1000)$$),
    'Denied at any depth: body, content, raw, vector, embedding, secret, token, password, ssn, personal_data. Keep such data elsewhere and point to it with payload_ref.',
    'the hint lists the denied keys and says what to do'
);

select * from finish();
rollback;
