begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_worker_id_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_worker_id_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_worker_id_assert'::regproc), 'i', 'it looks at nothing but its arguments');
select lives_ok($$select dotq.fn_worker_id_assert('host-123-a1b2')$$, 'a worker id passes');
select lives_ok($$select dotq.fn_worker_id_assert(repeat('w', 200))$$, '200 characters pass');
select throws_ok($$select dotq.fn_worker_id_assert(repeat('w', 201))$$, '22023', 'worker_id: is 201 characters long', '201 characters are refused');
select throws_ok($$select dotq.fn_worker_id_assert('w#1')$$, '22023', 'worker_id: must not contain #', 'a # is refused');
select throws_ok($$select dotq.fn_worker_id_assert('#w')$$, '22023', 'worker_id: must not contain #', 'a # is refused at the front');
select throws_ok($$select dotq.fn_worker_id_assert('w#')$$, '22023', 'worker_id: must not contain #', 'a # is refused at the end');
select throws_ok('select dotq.fn_worker_id_assert(null)', '22023', 'worker_id: is required', 'no worker id is refused');
select throws_ok($$select dotq.fn_worker_id_assert(' ')$$, '22023', 'worker_id: must not be blank', 'a blank worker id is refused');
select throws_ok($$select dotq.fn_worker_id_assert(E'w\n1')$$, '22023', 'worker_id: contains a control character', 'a control character is refused');

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
    pg_temp.hint($$select dotq.fn_worker_id_assert('a#b')$$),
    'Allowed: 1 to 200 characters without #, such as host-pid-random.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
