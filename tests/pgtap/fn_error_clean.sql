begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_error_clean'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_error_clean'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_error_clean'::regproc), 'i', 'it looks at nothing but its arguments');
select is(dotq.fn_error_clean('error', 'disk full'), 'disk full', 'a plain text stays as it is');
select is(dotq.fn_error_clean('error', E' \t\n disk full \n\t '), 'disk full', 'blanks around it are dropped');
select is(dotq.fn_error_clean('error', E'line 1\n\tline 2'), E'line 1\n\tline 2', 'line ends and tabs inside it stay');
select is(
    dotq.fn_error_clean('error', 'a' || chr(1) || 'b' || chr(8) || 'c' || chr(11) || 'd' || chr(13) || 'e' || chr(27) || 'f' || chr(31) || 'g' || chr(127) || 'h'),
    'a b c d e f g h',
    'control characters become blanks'
);
select is(dotq.fn_error_clean('error', 'größer als 5 €'), 'größer als 5 €', 'letters of any language stay');
select is(dotq.fn_error_clean('error', repeat('x', 10000)), repeat('x', 10000), 'ten thousand characters are kept');
select is(dotq.fn_error_clean('error', repeat('x', 9999) || 'yz'), repeat('x', 9999) || 'y', 'what is longer is cut at ten thousand');
select is(dotq.fn_error_clean('error', repeat(' ', 5000) || repeat('x', 10000)), repeat('x', 10000), 'blanks in front do not use up the room');
select is(char_length(dotq.fn_error_clean('error', repeat('é', 1000000))), 10000, 'a huge text is cut by characters');
select throws_ok($$select dotq.fn_error_clean('error', null)$$, '22023', 'error: must not be blank', 'no text is refused');
select throws_ok($$select dotq.fn_error_clean('error', '')$$, '22023', 'error: must not be blank', 'an empty text is refused');
select throws_ok($$select dotq.fn_error_clean('note', E' \t\n ')$$, '22023', 'note: must not be blank', 'a blank text is refused by the name of its field');
select throws_ok(
    $$select dotq.fn_error_clean('error', chr(1) || chr(13))$$, '22023', 'error: must not be blank', 'a text of control characters says nothing'
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
    pg_temp.hint($$select dotq.fn_error_clean('error', null)$$),
    'Allowed: any text that is not blank; it is cut at 10000 characters.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
