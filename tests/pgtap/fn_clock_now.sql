begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_clock_now'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'],
    'every role may call it, and nobody else'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_clock_now'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_clock_now'::regproc), 'v', 'it may answer differently each time');
select ok(
    (select earlier <= clock and clock <= later
     from (select clock_timestamp() as earlier, dotq.fn_clock_now() as clock, clock_timestamp() as later) as reading),
    'it is the server''s clock'
);
select cmp_ok(dotq.fn_clock_now(), '>', now(), 'it moves on while a transaction stands still');
select is(
    (select proconfig from pg_proc where oid = 'dotq.fn_clock_now'::regproc),
    array['search_path=pg_catalog, pg_temp'],
    'nobody can put a clock of their own in front of it'
);

select * from finish();
rollback;
