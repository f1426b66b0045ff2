begin;
select plan(39);

create function pg_temp.check_job(p_given jsonb)
returns void
language plpgsql
as $fn$
declare
    l_all jsonb := '{"job_kind": "mail.send", "actor": "ann"}' || p_given;
begin
    perform dotq.fn_job_arguments_assert(
        l_all ->> 'job_kind', l_all ->> 'actor', l_all ->> 'idempotency_key', l_all ->> 'source_ref', l_all ->> 'target_ref',
        l_all ->> 'payload_ref', (l_all ->> 'priority')::integer, (l_all ->> 'scheduled_at')::timestamptz, (l_all ->> 'max_attempts')::integer
    );
end
$fn$;

create function pg_temp.check_length(p_field text, p_length integer)
returns void
language sql
as $fn$
select pg_temp.check_job(jsonb_build_object(p_field, repeat('x', p_length)))
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_arguments_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_arguments_assert'::regproc),
    false,
    'it works with the rights of the function that calls it'
);
select is(
    (select provolatile from pg_proc where oid = 'dotq.fn_job_arguments_assert'::regproc), 'i', 'it looks at nothing but its arguments'
);

select lives_ok($$select pg_temp.check_job('{}')$$, 'a kind and an actor are enough');
select lives_ok(
    $$select pg_temp.check_job(jsonb_build_object('job_kind', repeat('x', 200), 'idempotency_key', repeat(U&'\+01F600', 450)))$$,
    'kind and key may have 2000 bytes together'
);
select throws_ok(
    $$select pg_temp.check_job(jsonb_build_object('job_kind', repeat('x', 197) || U&'\+01F600', 'idempotency_key', repeat(U&'\+01F600', 450)))$$,
    '22023', 'idempotency_key: is too long together with job_kind', 'more than an index entry can hold is refused, by name'
);
select throws_ok($$select pg_temp.check_job('{"job_kind": null}')$$, '22023', 'job_kind: is required', 'a kind is required');
select throws_ok($$select pg_temp.check_job('{"job_kind": " \t"}')$$, '22023', 'job_kind: must not be blank', 'a blank kind is refused');
select throws_ok($$select pg_temp.check_job('{"job_kind": "a\u0007"}')$$, '22023', 'job_kind: contains a control character', 'a kind without control characters');
select lives_ok($$select pg_temp.check_length('job_kind', 200)$$, 'a kind of 200 characters is accepted');
select throws_ok($$select pg_temp.check_length('job_kind', 201)$$, '22023', 'job_kind: is 201 characters long', 'a kind of 201 characters is refused');
select throws_ok($$select pg_temp.check_job('{"actor": null}')$$, '22023', 'actor: is required', 'an actor is required');
select throws_ok($$select pg_temp.check_job('{"actor": ""}')$$, '22023', 'actor: must not be blank', 'a blank actor is refused');
select lives_ok($$select pg_temp.check_length('actor', 200)$$, 'an actor of 200 characters is accepted');
select throws_ok($$select pg_temp.check_length('actor', 201)$$, '22023', 'actor: is 201 characters long', 'an actor of 201 characters is refused');
select throws_ok($$select pg_temp.check_job('{"idempotency_key": " "}')$$, '22023', 'idempotency_key: must not be blank', 'a blank key is refused');
select lives_ok($$select pg_temp.check_length('idempotency_key', 500)$$, 'a key of 500 characters is accepted');
select throws_ok($$select pg_temp.check_length('idempotency_key', 501)$$, '22023', 'idempotency_key: is 501 characters long', 'a key of 501 characters is refused');
select throws_ok($$select pg_temp.check_job('{"source_ref": ""}')$$, '22023', 'source_ref: must not be blank', 'a blank source is refused');
select lives_ok($$select pg_temp.check_length('source_ref', 2000)$$, 'a source of 2000 characters is accepted');
select throws_ok($$select pg_temp.check_length('source_ref', 2001)$$, '22023', 'source_ref: is 2001 characters long', 'a source of 2001 characters is refused');
select throws_ok($$select pg_temp.check_job('{"target_ref": ""}')$$, '22023', 'target_ref: must not be blank', 'a blank target is refused');
select lives_ok($$select pg_temp.check_length('target_ref', 2000)$$, 'a target of 2000 characters is accepted');
select throws_ok($$select pg_temp.check_length('target_ref', 2001)$$, '22023', 'target_ref: is 2001 characters long', 'a target of 2001 characters is refused');
select throws_ok($$select pg_temp.check_job('{"payload_ref": ""}')$$, '22023', 'payload_ref: must not be blank', 'a blank payload reference is refused');
select lives_ok($$select pg_temp.check_length('payload_ref', 2000)$$, 'a payload reference of 2000 characters is accepted');
select throws_ok($$select pg_temp.check_length('payload_ref', 2001)$$, '22023', 'payload_ref: is 2001 characters long', 'a payload reference of 2001 characters is refused');
select lives_ok($$select pg_temp.check_job('{"priority": 0}')$$, 'priority 0 is accepted');
select lives_ok($$select pg_temp.check_job('{"priority": 2147483647}')$$, 'the largest integer is a priority');
select throws_ok($$select pg_temp.check_job('{"priority": -1}')$$, '22023', 'priority: -1 is negative', 'priority -1 is refused');
select lives_ok($$select pg_temp.check_job('{"scheduled_at": "1999-01-01Z"}')$$, 'a time in the past is accepted');
select throws_ok($$select pg_temp.check_job('{"scheduled_at": "infinity"}')$$, '22023', 'scheduled_at: infinity is not a time', 'a job cannot be due in infinity');
select throws_ok($$select pg_temp.check_job('{"scheduled_at": "-infinity"}')$$, '22023', 'scheduled_at: -infinity is not a time', 'nor since minus infinity');
select lives_ok($$select pg_temp.check_job('{"scheduled_at": "9999-12-31 23:59:59.999999Z"}')$$, 'the last moment of the year 9999 is accepted');
select throws_ok($$select pg_temp.check_job('{"scheduled_at": "10000-01-01Z"}')$$, '22023', null, 'a year that clients cannot read is refused');
select lives_ok($$select pg_temp.check_job('{"max_attempts": 1}')$$, 'one attempt is accepted');
select lives_ok($$select pg_temp.check_job('{"max_attempts": 1000}')$$, 'a thousand attempts are accepted');
select throws_ok($$select pg_temp.check_job('{"max_attempts": 0}')$$, '22023', 'max_attempts: 0 is out of range', 'no attempt at all is refused');
select throws_ok($$select pg_temp.check_job('{"max_attempts": 1001}')$$, '22023', 'max_attempts: 1001 is out of range', 'a thousand and one attempts are refused');

select * from finish();
rollback;
