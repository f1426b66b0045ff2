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

create function pg_temp.blockers(p_key text)
returns text
language sql
as $fn$
select string_agg(e.place || ' ' || e.blocker, ', ' order by e.ord)
from dotq.fn_job_explain(pg_temp.id(p_key)) with ordinality as e (place, blocker, detail, remedy, ord)
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_explain'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator'],
    'producers, workers and operators may ask why a job does not run'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_explain'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);
select is((select provolatile from pg_proc where oid = 'dotq.fn_job_explain'::regproc), 's', 'asking changes nothing');

select dotq.fn_job_enqueue('mail', 'ann', 'first', p_priority => 1);
select dotq.fn_job_enqueue('mail', 'ann', 'second', p_scheduled_at => '2030-01-01 12:30:00+00');
select dotq.fn_worker_register('w1', 'host', 1);
select is(pg_temp.blockers('first'), '1 next', 'the next job is only waiting for its turn');
select is(pg_temp.blockers('second'), '1 not_due, 2 waiting_turn', 'a job that is not due says that first, then how many are ahead');
select dotq.fn_worker_deregister('w1');
select dotq.fn_kind_pause('mail', 'ann');
select dotq.fn_kind_set('mail', '{"enabled": false}', 'ann');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(
    pg_temp.blockers('second'),
    '1 gate_closed, 2 gate_closed, 3 kind_disabled, 4 kind_paused, 5 not_due, 6 no_worker, 7 waiting_turn',
    'every blocker is listed, in the order in which it counts'
);
select results_eq(
    $$select * from dotq.fn_job_explain(pg_temp.id('second')) limit 2$$,
    $$values
        (1, 'gate_closed', 'the gate queue.job_substrate.enabled is closed', format('select dotq.fn_config_set(''queue.job_substrate.enabled'', ''true'', %L);', pg_temp.me())),
        (2, 'gate_closed', 'the gate queue.claim.enabled is closed', format('select dotq.fn_config_set(''queue.claim.enabled'', ''true'', %L);', pg_temp.me()))$$,
    'each comes with its explanation and the statement that lifts it'
);
select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_kind_set('mail', '{"enabled": true}', 'ann');
select dotq.fn_kind_resume('mail', 'ann');
select dotq.fn_job_claim('w1', 60, array['mail']);
select is(pg_temp.blockers('first'), '1 leased', 'a leased job waits for nothing but its holder');
select dotq.fn_job_ack(pg_temp.id('first'), 'w1');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(pg_temp.blockers('first'), '1 ended', 'a job that has ended has ended, whatever the gates');

select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
set local test.clock = '2030-01-01 12:30:00+00';
select dotq.fn_job_claim('w1', 60, array['mail']);
select dotq.fn_job_fail_or_retry(pg_temp.id('second'), 'w1', 'boom');
select is(pg_temp.blockers('second'), '1 not_due, 2 no_worker, 3 next', 'a job that waits for its next attempt has a turn too');

select throws_ok($$select dotq.fn_job_explain(null)$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_explain('00000000-0000-7000-8000-000000000000')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);

select * from finish();
rollback;
