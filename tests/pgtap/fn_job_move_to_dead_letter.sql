begin;
select plan(26);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_move_to_dead_letter'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may move a job to the dead letters, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_move_to_dead_letter'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select pg_temp.leased('held');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
create temp table moved as
select pg_temp.lease('held') as lease, dotq.fn_job_move_to_dead_letter(pg_temp.id('held'), E' poison\x01pill ', 'bob') as answer;
select is(
    (select answer from moved),
    jsonb_build_object(
        'ok', true, 'job_id', pg_temp.id('held'), 'state', 'dead_letter',
        'dead_letter_id', (select dead_letter_id from dotq.job_dead_letter where job_id = pg_temp.id('held'))
    ),
    'the answer has the id of the dead letter'
);
select isnt((select answer ->> 'dead_letter_id' from moved), null, 'that id is there');
select is(
    pg_temp.job('held'),
    pg_temp.was('held') || '{
        "state": "dead_letter", "finished_at": "2030-01-01T12:00:10+00:00", "lease_owner": null, "lease_until": null,
        "last_error": "poison pill", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job has ended and its holder has lost it'
);
select results_eq(
    $$select cause, final_error::text, moved_by::text, triage_status, moved_at from dotq.job_dead_letter$$,
    $$values ('moved', 'poison pill', 'bob', 'pending', '2030-01-01 12:00:10+00'::timestamptz)$$,
    'the dead letter says that it was moved, by whom and why, and waits for triage'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('held'), (select lease from moved))$$, 'JQ003', null, 'the worker that held it cannot finish it any more'
);

select pg_temp.waiting('waiting');
select is(dotq.fn_job_move_to_dead_letter(pg_temp.id('waiting'), 'no', 'bob') ->> 'state', 'dead_letter', 'a waiting job can be moved');
select is((pg_temp.job('waiting') ->> 'state'), 'dead_letter', 'and is then dead');
select pg_temp.leased('retrying');
select dotq.fn_job_fail_or_retry(pg_temp.id('retrying'), 'w1', 'boom');
select lives_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('retrying'), 'no', 'bob')$$, 'one that waits for its next attempt too');
select pg_temp.leased('running');
select dotq.fn_job_start(pg_temp.id('running'), 'w1');
select lives_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('running'), 'no', 'bob')$$, 'and one in progress');

-- Refusals.
create temp table letters as select count(*) as letters from dotq.job_dead_letter;
select pg_temp.remember('held');
select throws_ok(
    $$select dotq.fn_job_move_to_dead_letter(pg_temp.id('held'), 'again', 'bob')$$,
    'JQ004', format('job %s is dead_letter already', pg_temp.id('held')), 'a dead job cannot be moved again'
);
select pg_temp.leased('done');
select dotq.fn_job_ack(pg_temp.id('done'), 'w1');
select throws_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('done'), 'no', 'bob')$$, 'JQ004', null, 'a job that succeeded cannot be moved');
select throws_ok($$select dotq.fn_job_move_to_dead_letter(null, 'no', 'bob')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_move_to_dead_letter('00000000-0000-7000-8000-000000000000', 'no', 'bob')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('bystander'), null, 'bob')$$, '22023', 'final_error: must not be blank', 'the error is required');
select throws_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('bystander'), ' ', 'bob')$$, '22023', 'final_error: must not be blank', 'a blank error is refused');
select throws_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('bystander'), 'no', null)$$, '22023', 'moved_by: is required', 'who moves it is required');
select throws_ok($$select dotq.fn_job_move_to_dead_letter(pg_temp.id('bystander'), 'no', ' ')$$, '22023', 'moved_by: must not be blank', 'and not blank');
select throws_ok(
    $$select dotq.fn_job_move_to_dead_letter(pg_temp.id('bystander'), 'no', repeat('x', 201))$$, '22023', 'moved_by: is 201 characters long', 'and at most 200 characters'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'a refused job stays where it is');
select is(pg_temp.job('held'), pg_temp.was('held'), 'a dead job stays as it is');
select is((select count(*) from dotq.job_dead_letter), (select letters from letters), 'and no dead letter is added');

select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
create temp table given as select pg_temp.id('bystander') as job_id;
grant select on given to dotq_operator;
set local role dotq_operator;
select is(
    (select dotq.fn_job_move_to_dead_letter(job_id, repeat('x', 10001), repeat('y', 200)) ->> 'state' from given), 'dead_letter',
    'an operator can move a job while the gates are closed, without rights on the tables'
);
reset role;
select is(char_length(pg_temp.job('bystander') ->> 'last_error'), 10000, 'a long error is cut at 10000 characters');

select * from finish();
rollback;
