begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_json_is_safe'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_json_is_safe'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_json_is_safe'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_json_is_safe(value::jsonb), safe, promise)
from (
    values
        (null, true, 'null is safe'),
        ('{}', true, 'an empty object is safe'),
        ('"password"', true, 'a denied word is safe as a value'),
        ('["token", 1]', true, 'a denied word is safe in a list'),
        ('{"user_token": 1}', true, 'a longer key is safe'),
        ('{"toke": 1}', true, 'a shorter key is safe'),
        ('{"token\nx": 1}', true, 'a denied word on one line of a longer key is safe'),
        ('{"token": null}', false, 'a denied key is not safe, whatever its value'),
        ('{"a": {"b": {"c": {"token": 1}}}}', false, 'a denied key is found inside objects'),
        ('[[[{"token": 1}]]]', false, 'a denied key is found inside lists'),
        ('{"a": [{"x": 1}, {"y": [{"TOKEN": 1}]}]}', false, 'a denied key is found in capitals'),
        ('{"a": 1, "PassWord": 2}', false, 'a denied key is found in mixed letters'),
        ('{"  token": 1}', false, 'blanks in front do not hide a denied key'),
        ('{"token\t": 1}', false, 'blanks behind do not hide a denied key')
) as listed (value, safe, promise);
select is(dotq.fn_json_is_safe(jsonb_build_object(key, 1)), false, 'the key is denied: ' || key)
from unnest(array['body', 'content', 'raw', 'vector', 'embedding', 'secret', 'token', 'password', 'ssn', 'personal_data']) as key;

select * from finish();
rollback;
