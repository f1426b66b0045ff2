begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_pattern_problem'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_pattern_problem'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_pattern_problem'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_payload_pattern_problem(value::jsonb), null, 'a regular expression: ' || value)
from unnest(array['"^a+$"', '""', '"[0-9]{3}"', '"(?i)abc"', '"\\d+\\s"', '"ä|ö"']) as value;
select is(dotq.fn_payload_pattern_problem(value::jsonb), 'is not a regular expression of PostgreSQL', 'not a regular expression: ' || value)
from unnest(array['"("', '"["', '"a{2,1}"', '"*a"', '"\\"', '"a{99999}"']) as value;
select is(
    dotq.fn_payload_pattern_problem(value::jsonb), 'must be a regular expression of at most 500 characters', 'not even a text: ' || value
)
from unnest(array['1', 'null', 'true', '[]', '{}']) as value;
select is(dotq.fn_payload_pattern_problem(to_jsonb(repeat('a', 500))), null, '500 characters are allowed');
select is(
    dotq.fn_payload_pattern_problem(to_jsonb(repeat('a', 501))), 'must be a regular expression of at most 500 characters', '501 characters are too many'
);

select * from finish();
rollback;
