begin;
select plan(20);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_start'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may start a job, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_start'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select pg_temp.leased('mine');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select is(
    dotq.fn_job_start(pg_temp.id('mine'), pg_temp.lease('mine')),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('mine'))
        || '{"state": "in_progress", "lease_until": "2030-01-01T12:01:00+00:00", "cancel_requested": false}',
    'a started job is in progress; its lease goes on as it was'
);
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine') || '{"state": "in_progress", "started_at": "2030-01-01T12:00:10+00:00", "updated_at": "2030-01-01T12:00:10+00:00"}',
    'it knows when it was started, and nothing else of it changes'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job of the worker is touched');

select pg_temp.remember('mine');
set local test.clock = '2030-01-01 12:00:20+00';
select dotq.fn_job_cancel(pg_temp.id('mine'), 'bob');
select is(
    dotq.fn_job_start(pg_temp.id('mine'), 'w1') - array['ok', 'job_id'],
    '{"state": "in_progress", "lease_until": "2030-01-01T12:01:00+00:00", "cancel_requested": true}',
    'it may be started again, by the plain worker id too, and says that a cancel was asked for'
);
select is(pg_temp.job('mine') -> 'started_at', pg_temp.was('mine') -> 'started_at', 'the first start counts');

set local test.clock = '2030-01-01 13:00:00+00';
select lives_ok(
    $$select dotq.fn_job_start(pg_temp.id('bystander'), pg_temp.lease('bystander'))$$, 'a lease that ran out is good for a start until somebody takes it back'
);

-- A second attempt does not hide when the first began.
select dotq.fn_job_release(pg_temp.id('bystander'), 'w1');
select dotq.fn_job_claim('w1', 60, array['bystander']);
set local test.clock = '2030-01-01 13:00:10+00';
select dotq.fn_job_start(pg_temp.id('bystander'), 'w1');
select is(pg_temp.job('bystander') ->> 'started_at', '2030-01-01T13:00:00+00:00', 'the start of the first attempt stays');

-- Refusals.
select pg_temp.leased('other');
select pg_temp.waiting('waiting');
select throws_ok(
    $$select dotq.fn_job_start(pg_temp.id('other'), pg_temp.lease('bystander'))$$, 'JQ003', null, 'the right worker with the token of another lease is refused'
);
select throws_ok(
    $$select dotq.fn_job_start(pg_temp.id('other'), 'w2#' || split_part(pg_temp.lease('other'), '#', 2))$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok($$select dotq.fn_job_start(pg_temp.id('other'), 'w2')$$, 'JQ003',
    format('the lease ''w2'' on job %s is not current: it is held by w1', pg_temp.id('other')), 'another worker by its plain id is refused, and told who holds the job');
select throws_ok($$select dotq.fn_job_start(pg_temp.id('waiting'), 'w1')$$, 'JQ003', null, 'a job that nobody holds cannot be started');
select throws_ok(
    $$select dotq.fn_job_start('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_start(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_job_start(pg_temp.id('other'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_start(pg_temp.id('other'), 'w1#1#1')$$, '22023', null, 'a malformed lease is refused');
select is(pg_temp.job('other'), pg_temp.was('other'), 'a refusal leaves the job leased');

create temp table given as select pg_temp.id('other') as job_id, pg_temp.lease('other') as lease;
grant select on given to dotq_worker;
set local role dotq_worker;
select is((select dotq.fn_job_start(job_id, lease) ->> 'state' from given), 'in_progress', 'a worker can start its job without rights on the tables');
reset role;
select dotq.fn_job_ack(pg_temp.id('other'), 'w1');
select throws_ok($$select dotq.fn_job_start(pg_temp.id('other'), 'w1')$$, 'JQ003', null, 'a job that has ended cannot be started');

select * from finish();
rollback;
