begin;
select plan(21);

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
returns table (rank integer, blocker text, detail text, remedy text)
language sql
as $fn$
select e.* from dotq.job_queue as q, dotq.fn_job_explain_turn(q) as e where q.idempotency_key = p_key order by e.rank
$fn$;

create function pg_temp.add(p_key text, p_kind text, p_affinity_key text)
returns void
language sql
as $fn$
select dotq.fn_job_insert(k, 'ann', p_key, '{}', null, null, null, null, null, null, null, p_affinity_key => p_affinity_key)
from dotq.fn_kind_resolve(p_kind, 'ann') as k
$fn$;

create function pg_temp.has_worker(p_key text)
returns boolean
language sql
as $fn$
select not exists (select from pg_temp.explain(p_key) where blocker = 'no_worker')
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_explain_turn'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_explain_turn'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

-- Workers.
select pg_temp.add('plain', 'mail', null);
select pg_temp.add('room', 'mail', 'a');
select results_eq(
    $$select * from pg_temp.explain('plain')$$,
    $$values
        (60, 'no_worker', 'no registered worker takes the kind mail', null),
        (70, 'next', 'nothing is ahead of it', null)$$,
    'without a worker the job says so, and no statement can lift that; nothing is ahead of the only job'
);
select results_eq(
    $$select * from pg_temp.explain('room') where rank = 60$$,
    $$values (
        60, 'no_worker', 'no registered worker takes the kind mail with the affinity key a',
        null
    )$$,
    'a job with an affinity key names it'
);
select dotq.fn_worker_register('w1', 'host', 1, p_kinds => array['sms']);
select ok(not pg_temp.has_worker('plain'), 'a worker of other kinds does not count');
select dotq.fn_worker_register('w2', 'host', 1, p_kinds => array['sms', 'mail'], p_affinity_keys => array['b']);
select ok(pg_temp.has_worker('plain'), 'a worker of the kind does');
select ok(not pg_temp.has_worker('room'), 'not for a job whose affinity key it does not take');
select dotq.fn_worker_register('w3', 'host', 1, p_affinity_keys => array['b', 'a']);
select ok(pg_temp.has_worker('room'), 'a worker of all kinds that takes the affinity key counts');
select dotq.fn_worker_deregister('w2');
select ok(pg_temp.has_worker('plain'), 'a worker with affinity keys takes jobs without one too');
set local test.clock = '2030-01-01 12:01:59.999999+00';
select ok(pg_temp.has_worker('plain'), 'a worker counts while it was heard of within queue.worker.timeout_sec');
set local test.clock = '2030-01-01 12:02:00+00';
select ok(not pg_temp.has_worker('plain'), 'and no longer');

-- Turns. The ids are set so that they run against the order of the keys.
delete from dotq.job_queue;
select dotq.fn_job_enqueue('mail', 'ann', 'me', p_priority => 50);
select dotq.fn_job_enqueue('mail', 'ann', 'urgent', p_priority => 49);
select dotq.fn_job_enqueue('mail', 'ann', 'relaxed', p_priority => 51);
select dotq.fn_job_enqueue('mail', 'ann', 'twin', p_priority => 50);
select dotq.fn_job_enqueue('sms', 'ann', 'other kind', p_priority => 0);
select dotq.fn_job_enqueue('mail', 'ann', 'tomorrow', p_priority => 0, p_scheduled_at => '2030-01-01 12:02:00.000001+00');
select pg_temp.add('other room', 'mail', 'a');
update dotq.job_queue set priority = 0 where idempotency_key = 'other room';
update dotq.job_queue set job_id = '00000000-0000-7000-8000-000000000002' where idempotency_key = 'me';
update dotq.job_queue set job_id = '00000000-0000-7000-8000-000000000003' where idempotency_key = 'twin';
select results_eq(
    $$select * from pg_temp.explain('me') where rank = 70$$,
    $$values (70, 'waiting_turn', 'one job is ahead of it', format('select dotq.fn_job_reschedule(''00000000-0000-7000-8000-000000000002'', %L, p_priority => 0);', pg_temp.me()))$$,
    'a job is behind the more urgent one of its kind; not behind jobs of other kinds, other affinity, or not yet due'
);
select pg_temp.add('room mate', 'mail', 'a');
select is(
    (select detail from pg_temp.explain('room mate') where rank = 70), 'one job is ahead of it', 'a job with an affinity key is behind those that have the same'
);
update dotq.job_queue set job_id = '00000000-0000-7000-8000-000000000001' where idempotency_key = 'twin';
select is((select detail from pg_temp.explain('me') where rank = 70), '2 jobs are ahead of it', 'among equals the lower id goes first');
set local test.clock = '2030-01-01 12:02:00.000001+00';
select is((select detail from pg_temp.explain('me') where rank = 70), '3 jobs are ahead of it', 'a more urgent job that has become due goes first');
set local test.clock = '2030-01-01 12:02:00+00';
select is((select detail from pg_temp.explain('tomorrow') where rank = 70), 'nothing is ahead of it', 'a job that is not due is not behind less urgent ones');
select dotq.fn_job_enqueue('mail', 'ann', 'next week', p_priority => 50, p_scheduled_at => '2030-01-08 12:00:00+00');
select is(
    (select detail from pg_temp.explain('next week') where rank = 70), '4 jobs are ahead of it', 'but behind all that will be due and more urgent when its time comes'
);
select dotq.fn_job_claim('w1', 60, array['mail']);
select is((select detail from pg_temp.explain('me') where rank = 70), 'one job is ahead of it', 'a job that is being worked on is not ahead');
select dotq.fn_job_fail_or_retry(pg_temp.id('urgent'), 'w1', 'boom');
set local test.clock = '2030-01-01 12:03:00+00';
select is((select detail from pg_temp.explain('me') where rank = 70), '3 jobs are ahead of it', 'a job that waits for its next attempt is, once it is due');
select dotq.fn_job_enqueue('mail', 'ann', p_priority => 1) from generate_series(1, 996);
select is((select detail from pg_temp.explain('me') where rank = 70), '999 jobs are ahead of it', 'up to 999 jobs are counted');
select dotq.fn_job_enqueue('mail', 'ann', p_priority => 1) from generate_series(1, 2);
select is((select detail from pg_temp.explain('me') where rank = 70), 'a thousand jobs or more are ahead of it', 'more than that are not');

select * from finish();
rollback;
