begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_text_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_text_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_text_assert'::regproc), 'i', 'it looks at nothing but its arguments');
select lives_ok($$select dotq.fn_text_assert('actor', 'ann', 5)$$, 'a text passes');
select lives_ok($$select dotq.fn_text_assert('actor', 'ann b', 5)$$, 'exactly the allowed length passes');
select throws_ok($$select dotq.fn_text_assert('actor', 'ann bo', 5)$$, '22023', 'actor: is 6 characters long', 'one character more is refused');
select lives_ok($$select dotq.fn_text_assert('actor', 'éééé€', 5)$$, 'length is counted in characters');
select lives_ok($$select dotq.fn_text_assert('actor', ' a ', 5)$$, 'blanks around a text are its own');
select throws_ok($$select dotq.fn_text_assert('actor', null, 5)$$, '22023', 'actor: is required', 'null is refused unless told otherwise');
select throws_ok($$select dotq.fn_text_assert('actor', null, 5, true)$$, '22023', 'actor: is required', 'null is refused where a text is required');
select lives_ok($$select dotq.fn_text_assert('reason', null, 5, false)$$, 'null passes where a text is not required');
select throws_ok(format('select dotq.fn_text_assert(''reason'', %L, 5, %L)', value, required), '22023', 'reason: must not be blank', promise)
from (
    values
        ('', true, 'an empty text is refused'),
        ('', false, 'an empty text is refused even where none is required'),
        ('   ', true, 'a text of blanks is refused'),
        (E'\t\r\n', true, 'a text of tabs and line ends is refused'),
        (repeat(' ', 9), true, 'a long blank text is called blank')
) as listed (value, required, promise);
select throws_ok(
    format('select dotq.fn_text_assert(''actor'', %L, 5)', 'a' || chr(code) || 'b'),
    '22023', 'actor: contains a control character', 'a control character is refused: ' || code
)
from unnest(array[1, 9, 10, 13, 31, 127]) as code;
select lives_ok(
    format('select dotq.fn_text_assert(''actor'', %L, 5)', 'a' || chr(code) || 'b'), 'a printable character passes: ' || code
)
from unnest(array[32, 35, 126, 160, 8364]) as code;

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
    pg_temp.hint($$select dotq.fn_text_assert('x', null, 7)$$),
    'Allowed: 1 to 7 characters, not only blanks.',
    'the hint says what is allowed instead of nothing'
);
select is(
    pg_temp.hint($$select dotq.fn_text_assert('x', ' ', 7)$$),
    'Allowed: 1 to 7 characters, not only blanks.',
    'the hint says what is allowed instead of blanks'
);
select is(
    pg_temp.hint($$select dotq.fn_text_assert('x', '12345678', 7)$$),
    'Allowed: 1 to 7 characters.',
    'the hint says which length is allowed'
);
select is(
    pg_temp.hint($$select dotq.fn_text_assert('x', E'a\tb', 7)$$),
    'Allowed: printable characters and blanks.',
    'the hint says which characters are allowed'
);

select * from finish();
rollback;
