begin;
select plan(14);

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
select e.* from dotq.job_queue as q, dotq.fn_job_explain_state(q) as e where q.idempotency_key = p_key order by e.rank
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_explain_state'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_explain_state'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select pg_temp.waiting('due');
select is_empty($$select * from pg_temp.explain('due') as e (rank integer, blocker text, detail text, remedy text)$$, 'nothing in a job that is due keeps it from running');
select dotq.fn_job_enqueue('later', 'ann', 'later', p_scheduled_at => '2030-01-01 12:00:05.002+00');
select results_eq(
    $$select * from pg_temp.explain('later') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (50, 'not_due', 'due at 2030-01-01 12:00:05.002+00, in 00:00:06', format('select dotq.fn_job_reschedule(%L, %L);', pg_temp.id('later'), pg_temp.me()))$$,
    'a job that is not due says when it will be, and what makes it due now'
);
set local test.clock = '2030-01-01 12:00:05.002+00';
select is_empty($$select * from pg_temp.explain('later') as e (rank integer, blocker text, detail text, remedy text)$$, 'at its very moment it is due');

select pg_temp.leased('held');
select results_eq(
    $$select * from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (20, 'leased', 'worker w1 holds it until 2030-01-01 12:01:05.002+00', format('select dotq.fn_job_release(%L, %L);', pg_temp.id('held'), pg_temp.lease('held')))$$,
    'a leased job says who holds it and until when'
);
set local test.clock = '2030-01-01 12:01:05.001999+00';
select results_eq(
    $$select blocker from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$, $$values ('leased')$$, 'until the last microsecond'
);
set local test.clock = '2030-01-01 12:01:05.002+00';
select results_eq(
    $$select * from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (20, 'lease_expired', 'worker w1 let its lease run out at 2030-01-01 12:01:05.002+00', 'select dotq.fn_queue_reap();')$$,
    'a lease that ran out is told apart, with what takes it back'
);

select dotq.fn_job_fail_or_retry(pg_temp.id('held'), 'w1', repeat('x', 300));
select results_eq(
    $$select * from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (
        50, 'not_due',
        'due at 2030-01-01 12:01:15.002+00, in 00:00:10, after attempt 1 of 5 failed: ' || repeat('x', 200),
        format('select dotq.fn_job_reschedule(%L, %L);', pg_temp.id('held'), pg_temp.me())
    )$$,
    'a job that waits for its next attempt says which one failed and why, in 200 characters'
);

select dotq.fn_job_move_to_dead_letter(pg_temp.id('held'), 'boom', 'ann');
create temp table letter as select dead_letter_id from dotq.job_dead_letter;
select results_eq(
    $$select * from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$select 10, 'ended', 'the job is dead_letter since 2030-01-01 12:01:05.002+00', format('select dotq.fn_dead_letter_replay(%L, %L);', dead_letter_id, pg_temp.me()) from letter$$,
    'a dead job says so, with what replays it'
);
select dotq.fn_dead_letter_triage(dead_letter_id, 'escalated', 'ann') from letter;
select isnt_empty(
    $$select from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text) where remedy like '%replay%'$$, 'an escalated one can still be replayed'
);
select dotq.fn_dead_letter_triage(dead_letter_id, 'acknowledged', 'ann') from letter;
select isnt_empty(
    $$select from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text) where remedy like '%replay%'$$, 'an acknowledged one too'
);
select dotq.fn_dead_letter_triage(dead_letter_id, 'closed', 'ann') from letter;
select results_eq(
    $$select blocker, remedy from pg_temp.explain('held') as e (rank integer, blocker text, detail text, remedy text)$$, $$values ('ended', null::text)$$,
    'a closed one has no remedy'
);
select pg_temp.leased('done');
select dotq.fn_job_ack(pg_temp.id('done'), 'w1');
select results_eq(
    $$select * from pg_temp.explain('done') as e (rank integer, blocker text, detail text, remedy text)$$,
    $$values (10, 'ended', 'the job is succeeded since 2030-01-01 12:01:05.002+00', null::text)$$,
    'a job that succeeded needs none'
);

select * from finish();
rollback;
