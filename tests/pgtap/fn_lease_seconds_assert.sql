begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_lease_seconds_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_lease_seconds_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_lease_seconds_assert'::regproc), 's', 'it changes nothing');
select lives_ok('select dotq.fn_lease_seconds_assert(null)', 'null leaves the choice to the kind');
select lives_ok('select dotq.fn_lease_seconds_assert(1)', 'one second is the shortest lease');
select lives_ok('select dotq.fn_lease_seconds_assert(86400)', 'queue.lease.max_sec is the longest lease');
select throws_ok('select dotq.fn_lease_seconds_assert(86401)', '22023', 'lease_seconds: 86401 is out of range', 'one second more is refused');
select throws_ok('select dotq.fn_lease_seconds_assert(0)', '22023', 'lease_seconds: 0 is out of range', 'a lease of no time is refused');
select throws_ok('select dotq.fn_lease_seconds_assert(-5)', '22023', 'lease_seconds: -5 is out of range', 'a negative lease is refused');
select throws_ok(
    'select dotq.fn_lease_seconds_assert(2147483647)', '22023', 'lease_seconds: 2147483647 is out of range', 'the largest integer is refused'
);
update dotq.dot_config set value = '60' where key = 'queue.lease.max_sec';
select lives_ok('select dotq.fn_lease_seconds_assert(60)', 'the longest lease follows the setting');
select throws_ok('select dotq.fn_lease_seconds_assert(61)', '22023', 'lease_seconds: 61 is out of range', 'and one second more is refused again');

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
    pg_temp.hint($$select dotq.fn_lease_seconds_assert(0)$$),
    'Allowed: 1 to 60 (queue.lease.max_sec).',
    'the hint says what is allowed and by which setting'
);

select * from finish();
rollback;
