begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_payload_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_payload_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_payload_assert'::regproc), 's', 'it changes nothing');

insert into dotq.job_kind (job_kind, registered_by, max_payload_bytes, payload_schema)
values
    ('free', 'ann', null, null),
    ('small', 'ann', 20, null),
    ('large', 'ann', 1000, null),
    ('typed', 'ann', null, '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}');

create function pg_temp.take(p_kind text, p_payload jsonb)
returns void
language sql
as $fn$
select dotq.fn_payload_assert(kind, p_payload) from dotq.job_kind as kind where job_kind = p_kind
$fn$;

select lives_ok($$select pg_temp.take('free', '{"any": ["thing", 1]}')$$, 'a kind without a schema takes any object');
select throws_ok($$select pg_temp.take('free', '[1]')$$, '22023', 'payload_json: is a JSON array', 'but an object it must be');
select throws_ok($$select pg_temp.take('free', '{"a": {"Token": 1}}')$$, '22023', 'payload_json: the key "Token" is not allowed', 'a denied key is refused');
select lives_ok($$select pg_temp.take('small', '{"a": "123456789 1"}')$$, 'exactly the size its kind allows passes');
select throws_ok($$select pg_temp.take('small', '{"a": "123456789 12"}')$$, '22023', 'payload_json: is 21 bytes long', 'one byte more is refused');
select lives_ok($$select pg_temp.take('free', jsonb_build_object('a', repeat('x', 262144 - 9)))$$, 'a kind that says nothing takes the configured size');
select throws_ok(
    $$select pg_temp.take('free', jsonb_build_object('a', repeat('x', 262144 - 8)))$$, '22023', 'payload_json: is 262145 bytes long', 'and not one byte more'
);
update dotq.dot_config set value = '50' where key = 'queue.payload.max_bytes';
select throws_ok($$select pg_temp.take('free', jsonb_build_object('a', repeat('x', 50)))$$, '22023', null, 'the configured size counts at once');
select lives_ok($$select pg_temp.take('large', jsonb_build_object('a', repeat('x', 50)))$$, 'a kind may take more than is configured for all');
select lives_ok($$select pg_temp.take('typed', '{"n": 1}')$$, 'a payload that fits the schema passes');
select throws_ok($$select pg_temp.take('typed', '{"n": "1"}')$$, 'JQ007', 'payload_json: $.n: must be integer, not string', 'one that does not is refused by its place');
select throws_ok($$select pg_temp.take('typed', '{}')$$, 'JQ007', 'payload_json: $: n is required', 'a missing member is refused');
select throws_ok($$select pg_temp.take('typed', '[]')$$, '22023', null, 'what no kind takes is told before what this kind does not take');

create function pg_temp.hint()
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    perform pg_temp.take('typed', '{}');
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(
    pg_temp.hint(), 'The schema: select dotq.fn_kind_get(''typed'') -> ''payload_schema'';', 'the hint is the statement that shows the schema'
);

select * from finish();
rollback;
