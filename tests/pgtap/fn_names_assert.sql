begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_names_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_names_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_names_assert'::regproc), 'i', 'it looks at nothing but its arguments');
select lives_ok($$select dotq.fn_names_assert('allowed_kinds', null)$$, 'null means no restriction');
select lives_ok($$select dotq.fn_names_assert('allowed_kinds', array['a', 'b c', repeat('x', 200)])$$, 'a list of names passes');
select throws_ok($$select dotq.fn_names_assert('allowed_kinds', '{}')$$, '22023', 'allowed_kinds: names 0 entries', 'an empty list is a mistake, not a restriction');
select lives_ok($$select dotq.fn_names_assert('allowed_kinds', array['a'])$$, 'one name passes');
select lives_ok($$select dotq.fn_names_assert('allowed_kinds', array_fill('k'::text, array[1000]))$$, 'a thousand names pass');
select throws_ok(
    $$select dotq.fn_names_assert('allowed_kinds', array_fill('k'::text, array[1001]))$$,
    '22023', 'allowed_kinds: names 1001 entries', 'a thousand and one are refused'
);
select throws_ok($$select dotq.fn_names_assert('allowed_kinds', array['a', null])$$, '22023', 'allowed_kinds: is required', 'a null in the list is refused');
select throws_ok($$select dotq.fn_names_assert('allowed_kinds', array['a', ' '])$$, '22023', 'allowed_kinds: must not be blank', 'a blank name is refused');
select throws_ok(
    $$select dotq.fn_names_assert('affinity_keys', array['a', 'b', repeat('x', 201)])$$,
    '22023', 'affinity_keys: is 201 characters long', 'a name of 201 characters is refused, at any place in the list'
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
    pg_temp.hint($$select dotq.fn_names_assert('x', '{}')$$),
    'Allowed: null for no restriction, or 1 to 1000 names.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
