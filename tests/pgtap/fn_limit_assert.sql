begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_limit_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_limit_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_limit_assert'::regproc), 'i', 'it looks at nothing but its arguments');
select lives_ok('select dotq.fn_limit_assert(1, 1000)', 'one is the smallest limit');
select lives_ok('select dotq.fn_limit_assert(1000, 1000)', 'the maximum is allowed');
select throws_ok('select dotq.fn_limit_assert(1001, 1000)', '22023', 'limit: 1001 is out of range', 'one more than the maximum is refused');
select throws_ok('select dotq.fn_limit_assert(0, 1000)', '22023', 'limit: 0 is out of range', 'a limit of nothing is refused');
select throws_ok('select dotq.fn_limit_assert(-1, 1000)', '22023', 'limit: -1 is out of range', 'a negative limit is refused');
select throws_ok('select dotq.fn_limit_assert(null, 1000)', '22023', 'limit: null is out of range', 'null does not mean all of them');
select lives_ok('select dotq.fn_limit_assert(5, 5)', 'the maximum is the one given');
select throws_ok('select dotq.fn_limit_assert(6, 5)', '22023', 'limit: 6 is out of range', 'and one more than it is refused again');

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
    pg_temp.hint($$select dotq.fn_limit_assert(0, 7)$$),
    'Allowed: 1 to 7.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
