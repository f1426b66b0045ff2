begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_resolve'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_resolve'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_resolve'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_kind (job_kind, registered_by, enabled, max_attempts)
values ('known', 'ann', true, 7), ('off', 'ann', false, null);
create temp table before as select * from dotq.job_kind;

select is((dotq.fn_kind_resolve('known', 'bob')).max_attempts::integer, 7, 'a known kind comes with its policy');
select throws_ok($$select dotq.fn_kind_resolve('off', 'bob')$$, 'JQ006', 'job_kind: ''off'' is disabled', 'a disabled kind is refused');
select results_eq('select * from dotq.job_kind order by job_kind', 'select * from before order by job_kind', 'a known kind is not changed by a look');

select results_eq(
    $$select job_kind::text, registered_by, enabled, default_priority::integer from dotq.fn_kind_resolve('new', 'bob')$$,
    $$values ('new', 'bob', true, 100)$$,
    'a new kind is registered with defaults, under the name of who brought it'
);
select results_eq(
    $$select job_kind::text, registered_by from dotq.job_kind where job_kind not in (select job_kind from before)$$,
    $$values ('new', 'bob')$$,
    'and only that kind'
);
select is((dotq.fn_kind_resolve('new', 'carol')).registered_by, 'bob', 'a second look finds the first registration');

update dotq.dot_config set value = 'true' where key = 'queue.kind.strict';
select throws_ok(
    $$select dotq.fn_kind_resolve('newer', 'bob')$$, 'JQ005', 'job_kind: ''newer'' is not registered', 'a new kind is refused while kinds are strict'
);
select is_empty($$select * from dotq.job_kind where job_kind = 'newer'$$, 'and is not registered');
select is((dotq.fn_kind_resolve('known', 'bob')).max_attempts::integer, 7, 'a known kind passes while kinds are strict');
update dotq.job_kind set paused_at = now() where job_kind = 'known';
select is((dotq.fn_kind_resolve('known', 'bob')).job_kind::text, 'known', 'a paused kind still takes jobs');

create function pg_temp.hint(p_kind text)
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    perform dotq.fn_kind_resolve(p_kind, 'bob');
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(
    pg_temp.hint('newer'),
    'An operator registers it with: select dotq.fn_kind_set(''newer'', ''{}'', <actor>);',
    'the hint is the statement that registers the kind'
);
select is(
    pg_temp.hint('off'),
    'An operator enables it with: select dotq.fn_kind_set(''off'', ''{"enabled": true}'', <actor>);',
    'the hint is the statement that enables the kind'
);

select * from finish();
rollback;
