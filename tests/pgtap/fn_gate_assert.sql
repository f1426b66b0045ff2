begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_gate_assert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_gate_assert'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_gate_assert'::regproc), 's', 'it changes nothing');
select throws_ok(
    $$select dotq.fn_gate_assert('queue.job_substrate.enabled')$$, 'JQ001', 'the gate queue.job_substrate.enabled is closed', 'a closed gate refuses by its name'
);
select lives_ok($$select dotq.fn_gate_assert('queue.claim.enabled')$$, 'an open gate lets pass');
update dotq.dot_config set value = 'on' where key = 'queue.job_substrate.enabled';
select lives_ok($$select dotq.fn_gate_assert('queue.job_substrate.enabled')$$, 'a gate that was opened lets pass');
update dotq.dot_config set value = 'maybe' where key = 'queue.job_substrate.enabled';
select throws_ok($$select dotq.fn_gate_assert('queue.job_substrate.enabled')$$, 'JQ001', null, 'a gate whose value cannot be read is closed');
delete from dotq.dot_config where key = 'queue.claim.enabled';
select throws_ok($$select dotq.fn_gate_assert('queue.claim.enabled')$$, 'JQ001', null, 'a gate without a value is closed');
select throws_ok($$select dotq.fn_gate_assert('queue.claims.enabled')$$, 'JQ011', null, 'a gate that does not exist lets nobody pass');
select throws_ok('select dotq.fn_gate_assert(null)', 'JQ011', null, 'no gate lets nobody pass');

create function pg_temp.hint()
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(
    pg_temp.hint(),
    'An operator opens it with: select dotq.fn_config_set(''queue.job_substrate.enabled'', ''true'', <actor>);',
    'the hint is the statement that opens the gate'
);

select * from finish();
rollback;
