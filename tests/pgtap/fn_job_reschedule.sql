begin;
select plan(22);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_reschedule'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may reschedule, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_reschedule'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select dotq.fn_job_enqueue('mail', 'ann', 'mine', p_priority => 7, p_scheduled_at => '2030-01-02 00:00:00+00');
select pg_temp.remember('mine');
select pg_temp.waiting('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select is(
    dotq.fn_job_reschedule(pg_temp.id('mine'), 'bob', '2030-01-01 12:00:10.000001+00', 0),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('mine')) || '{"state": "queued", "scheduled_at": "2030-01-01T12:00:10.000001+00:00", "priority": 0}',
    'a waiting job is moved to another time and priority'
);
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine') || '{"scheduled_at": "2030-01-01T12:00:10.000001+00:00", "priority": 0, "updated_at": "2030-01-01T12:00:10+00:00"}',
    'and nothing else of it changes'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');
select is(
    dotq.fn_job_reschedule(pg_temp.id('mine'), 'bob') - array['ok', 'job_id', 'state'], '{"scheduled_at": "2030-01-01T12:00:10+00:00", "priority": 0}',
    'without a time it is due now; without a priority it keeps its own'
);
select is(
    dotq.fn_job_reschedule(pg_temp.id('mine'), 'bob', '2030-01-01 12:00:09.999999+00') ->> 'scheduled_at', '2030-01-01T12:00:10+00:00', 'a time in the past means now'
);
select pg_temp.leased('retrying');
select dotq.fn_job_fail_or_retry(pg_temp.id('retrying'), 'w1', 'boom');
select is(
    dotq.fn_job_reschedule(pg_temp.id('retrying'), 'bob', p_priority => 2147483647) - array['ok', 'job_id'],
    '{"state": "retry_waiting", "scheduled_at": "2030-01-01T12:00:20+00:00", "priority": 2147483647}',
    'another priority alone leaves the time as it was'
);
select is(
    dotq.fn_job_reschedule(pg_temp.id('retrying'), 'bob') - array['ok', 'job_id'],
    '{"state": "retry_waiting", "scheduled_at": "2030-01-01T12:00:10+00:00", "priority": 2147483647}',
    'a backoff can be cut short'
);

-- Refusals.
select pg_temp.leased('held');
select throws_ok(
    $$select dotq.fn_job_reschedule(pg_temp.id('held'), 'bob')$$, 'JQ004', format('job %s is leased', pg_temp.id('held')), 'a leased job is not rescheduled'
);
select is(pg_temp.job('held'), pg_temp.was('held'), 'and stays as it was');
select dotq.fn_job_start(pg_temp.id('held'), 'w1');
select throws_ok(
    $$select dotq.fn_job_reschedule(pg_temp.id('held'), 'bob')$$, 'JQ004', format('job %s is in_progress', pg_temp.id('held')), 'nor one in progress'
);
select dotq.fn_job_ack(pg_temp.id('held'), 'w1');
select throws_ok(
    $$select dotq.fn_job_reschedule(pg_temp.id('held'), 'bob')$$, 'JQ004', format('job %s is succeeded', pg_temp.id('held')), 'nor one that has ended'
);
select throws_ok($$select dotq.fn_job_reschedule(null, 'bob')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_reschedule('00000000-0000-7000-8000-000000000000', 'bob')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_reschedule(pg_temp.id('bystander'), null)$$, '22023', 'actor: is required', 'the actor is required');
select throws_ok($$select dotq.fn_job_reschedule(pg_temp.id('bystander'), ' ')$$, '22023', 'actor: must not be blank', 'a blank actor is refused');
select throws_ok(
    $$select dotq.fn_job_reschedule(pg_temp.id('bystander'), 'bob', 'infinity')$$, '22023', 'scheduled_at: infinity is not a time', 'an infinite time is refused'
);
select throws_ok(
    $$select dotq.fn_job_reschedule(pg_temp.id('bystander'), 'bob', null, -1)$$, '22023', 'priority: -1 is negative', 'a negative priority is refused'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'bad arguments change nothing');

select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
create temp table given as select pg_temp.id('bystander') as job_id;
grant select on given to dotq_operator;
set local role dotq_operator;
select lives_ok($$select dotq.fn_job_reschedule(job_id, 'bob') from given$$, 'an operator can reschedule while the gates are closed, without rights on the tables');
reset role;
select is(
    (
        select array[changed_by, old_value::jsonb ->> 'priority', new_value::jsonb ->> 'priority', (new_value::jsonb ->> 'scheduled_at')::timestamptz::text]
        from dotq.dot_config_audit where key = 'job:' || pg_temp.id('bystander') order by audit_id desc limit 1
    ),
    array['bob', pg_temp.was('bystander') ->> 'priority', pg_temp.job('bystander') ->> 'priority', (pg_temp.job('bystander') ->> 'scheduled_at')::timestamptz::text],
    'who moved the job, from where to where, is on record'
);

select * from finish();
rollback;
