begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_lease_parse'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_lease_parse'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_lease_parse'::regproc), 'i', 'it looks at nothing but its arguments');

prepare parsed (text) as select owner, token from dotq.fn_lease_parse($1);

select results_eq(format('execute parsed(%L)', lease), format('values (%L::text, %L::bigint)', owner, token), promise)
from (
    values
        ('host-1-ab#7', 'host-1-ab', 7, 'a handle is the worker and its token'),
        ('host-1-ab', 'host-1-ab', null, 'a plain worker id leaves the token null'),
        ('w#0', 'w', 0, 'a token of 0 is a token'),
        ('w#007', 'w', 7, 'leading zeros do not matter'),
        ('w#999999999999999999', 'w', 999999999999999999, 'a token has up to 18 digits'),
        ('a b@c:d', 'a b@c:d', null, 'a worker id may hold what a name may hold'),
        (repeat('w', 200) || '#1', repeat('w', 200), 1, 'a worker id has up to 200 characters')
) as listed (lease, owner, token, promise);
select throws_ok(
    format('select dotq.fn_lease_parse(%L)', lease), '22023', format('lease: %s is not a lease', coalesce(quote_literal(translate(lease, E'\n', ' ')), 'null')), promise
)
from (
    values
        (null, 'null is refused'),
        ('', 'an empty lease is refused'),
        ('   ', 'a blank lease is refused'),
        ('#1', 'a token without a worker is refused'),
        ('w#', 'a handle without its token is refused'),
        ('w#x', 'a token that is no number is refused'),
        ('w#-1', 'a negative token is refused'),
        ('w#1#2', 'two tokens are refused'),
        (E'w#1\n', 'a line end behind the token is refused'),
        ('w# 1', 'a blank before the token is refused'),
        ('w#1000000000000000000', 'a token of 19 digits is refused'),
        (repeat('w', 201), 'a worker id of 201 characters is refused')
) as listed (lease, promise);
select throws_ok(
    $$select dotq.fn_lease_parse(repeat('w', 301))$$,
    '22023', format('lease: %L is not a lease', repeat('w', 299) || '…'), 'a message does not repeat a whole novel'
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
    pg_temp.hint($$select dotq.fn_lease_parse('#')$$),
    'Allowed: the handle worker-id#token that the claim returned, or the plain worker id.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
