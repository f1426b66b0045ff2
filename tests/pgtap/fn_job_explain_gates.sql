begin;
select plan(12);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.me()
returns text
language sql
as $fn$
select session_user::text
$fn$;

create function pg_temp.explain(p_key text)
returns setof record
language sql
as $fn$
select e.* from dotq.job_queue as q, dotq.fn_job_explain_gates(q) as e where q.idempotency_key = p_key order by e.rank
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_explain_gates'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_explain_gates'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select pg_temp.waiting('mail');
select pg_temp.waiting('other');
select is_empty($$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$, 'with open gates and a healthy kind nothing is in the way');

select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select results_eq(
    $$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (32, 'gate_closed', 'the gate queue.claim.enabled is closed', format('select dotq.fn_config_set(''queue.claim.enabled'', ''true'', %L);', pg_temp.me()))$$,
    'a closed claim gate is in the way'
);
select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select results_eq(
    $$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (31, 'gate_closed', 'the gate queue.job_substrate.enabled is closed', format('select dotq.fn_config_set(''queue.job_substrate.enabled'', ''true'', %L);', pg_temp.me()))$$,
    'a closed master gate is in the way, a closed enqueue gate is not'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');

select dotq.fn_kind_set('mail', '{"enabled": false}', 'ann');
select results_eq(
    $$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (40, 'kind_disabled', 'jobs of the kind mail are not handed out', format('select dotq.fn_kind_set(''mail'', ''{"enabled": true}'', %L);', pg_temp.me()))$$,
    'a disabled kind is in the way'
);
select is_empty($$select * from pg_temp.explain('other') as e (rank integer, blocker text, detail text, remedy text)$$, 'but not in the way of other kinds');
select dotq.fn_kind_set('mail', '{"enabled": true}', 'ann');

select dotq.fn_kind_pause('mail', 'bob', 'provider is down', '2030-01-01 13:00:00+00');
select results_eq(
    $$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (41, 'kind_paused', 'paused by bob at 2030-01-01 12:00:00+00, until 2030-01-01 13:00:00+00, because: provider is down', format('select dotq.fn_kind_resume(''mail'', %L);', pg_temp.me()))$$,
    'a paused kind is in the way, and says who paused it, until when and why'
);
select is_empty($$select * from pg_temp.explain('other') as e (rank integer, blocker text, detail text, remedy text)$$, 'a pause concerns one kind');
set local test.clock = '2030-01-01 12:59:59.999999+00';
select isnt_empty($$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$, 'until the last microsecond');
set local test.clock = '2030-01-01 13:00:00+00';
select is_empty($$select * from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$, 'and no longer');
select dotq.fn_kind_pause('mail', 'bob');
select results_eq(
    $$select detail from pg_temp.explain('mail') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values ('paused by bob at 2030-01-01 13:00:00+00')$$,
    'a pause without an end or a reason says only who and when'
);

select * from finish();
rollback;
