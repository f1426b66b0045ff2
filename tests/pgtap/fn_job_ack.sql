begin;
select plan(38);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_ack'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may finish a job, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_ack'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

-- The first ack, from leased.
select pg_temp.leased('first');
update dotq.job_queue set last_error = 'earlier', progress = '1', checkpoint = '2' where idempotency_key = 'first';
select pg_temp.remember('first');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';

create temp table handle as select pg_temp.lease('first') as lease;
select is(
    dotq.fn_job_ack(pg_temp.id('first'), pg_temp.lease('first'), '{"n": 1}'),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('first'), 'state', 'succeeded', 'duplicate', false),
    'an ack by the holder is answered with succeeded'
);
select is(
    pg_temp.job('first'),
    pg_temp.was('first') || '{
        "state": "succeeded", "started_at": "2030-01-01T12:00:00+00:00", "finished_at": "2030-01-01T12:00:10+00:00",
        "lease_owner": null, "lease_until": null, "result": {"n": 1}, "last_error": null, "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job ends as succeeded with its result, counts as started when it was picked, and keeps everything else'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job of the worker is touched');

-- Repeated.
select pg_temp.remember('first');
set local test.clock = '2030-01-01 12:00:20+00';
select is(
    (select dotq.fn_job_ack(pg_temp.id('first'), lease, '{"n": 2}') from handle),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('first'), 'state', 'succeeded', 'duplicate', true),
    'a repeated ack with the handle that finished the job is a duplicate, not an error'
);
select is(pg_temp.job('first'), pg_temp.was('first'), 'a repeated ack changes nothing');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('first'), 'w1')$$,
    'JQ003', null, 'a repeated ack by the plain worker id cannot be recognised and is refused'
);
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('first'), pg_temp.lease('bystander'))$$,
    'JQ003', null, 'an ack of a finished job with the handle of another lease is refused'
);

-- Other ways to an accepted ack.
select pg_temp.leased('started');
set local test.clock = '2030-01-01 12:00:25+00';
select dotq.fn_job_start(pg_temp.id('started'), 'w1');
set local test.clock = '2030-01-01 12:00:30+00';
select dotq.fn_job_ack(pg_temp.id('started'), pg_temp.lease('started'));
select is(
    jsonb_build_array(pg_temp.job('started') -> 'state', pg_temp.job('started') -> 'started_at', pg_temp.job('started') -> 'result'),
    '["succeeded", "2030-01-01T12:00:25+00:00", null]',
    'a job in progress can be acked, without a result, and keeps the time at which it was started'
);

select pg_temp.leased('plain');
select is(
    dotq.fn_job_ack(pg_temp.id('plain'), 'w1') ->> 'state', 'succeeded', 'the plain worker id of the holder is accepted'
);

select pg_temp.leased('late');
set local test.clock = '2030-01-01 13:00:30+00';
select is(
    dotq.fn_job_ack(pg_temp.id('late'), pg_temp.lease('late')) ->> 'state', 'succeeded',
    'a lease that ran out is good for an ack until somebody takes it back'
);

select pg_temp.leased('unwanted');
select dotq.fn_job_cancel(pg_temp.id('unwanted'), 'ann');
select dotq.fn_job_ack(pg_temp.id('unwanted'), pg_temp.lease('unwanted'));
select is(
    jsonb_build_array(pg_temp.job('unwanted') -> 'state', pg_temp.job('unwanted') -> 'last_error'), '["succeeded", null]',
    'work that was finished before a cancel request reached it counts as succeeded'
);

select pg_temp.leased('list');
select dotq.fn_job_ack(pg_temp.id('list'), pg_temp.lease('list'), '[1, "two"]');
select is(pg_temp.job('list') -> 'result', '[1, "two"]', 'a result may be any JSON value');

-- Refusals: the lease.
select pg_temp.leased('mine');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('mine'), 'w2#' || split_part(pg_temp.lease('mine'), '#', 2))$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('mine'), 'w2')$$, 'JQ003',
    format('the lease ''w2'' on job %s is not current: it is held by w1', pg_temp.id('mine')), 'another worker by its plain id is refused, and told who holds the job'
);
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('mine'), (select lease from handle))$$,
    'JQ003', null, 'the right worker with the token of another lease is refused'
);
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('mine'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('mine'), '')$$, '22023', null, 'an empty lease is refused');
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('mine'), '  ')$$, '22023', null, 'a blank lease is refused');
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('mine'), 'w1#')$$, '22023', null, 'a handle without a token is refused');
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('mine'), 'w1#1#2')$$, '22023', null, 'a handle with two tokens is refused');
select throws_ok($$select dotq.fn_job_ack(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_ack('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select is(pg_temp.job('mine'), pg_temp.was('mine'), 'a refused ack leaves the job with its holder');

select pg_temp.waiting('waiting');
select throws_ok($$select dotq.fn_job_ack(pg_temp.id('waiting'), 'w1')$$, 'JQ003', null, 'a job that nobody holds cannot be acked');

select pg_temp.leased('released');
create temp table old_handle as select pg_temp.lease('released') as lease;
select dotq.fn_job_release(pg_temp.id('released'), 'w1');
select dotq.fn_job_claim('w1', 60, array['released']);
select pg_temp.remember('released');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('released'), (select lease from old_handle))$$,
    'JQ003', null, 'the handle of an earlier lease of the same worker is refused'
);
select is(pg_temp.job('released'), pg_temp.was('released'), 'a late ack cannot finish what is being done again');

select pg_temp.leased('failed');
create temp table failed_handle as select pg_temp.lease('failed') as lease;
select dotq.fn_job_fail_or_retry(pg_temp.id('failed'), 'w1', 'boom', false);
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('failed'), (select lease from failed_handle))$$,
    'JQ003', null, 'a job that ended otherwise cannot be acked with the handle that ended it'
);

-- Refusals: the result.
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('mine'), 'w1', '{"a": [{"PassWord": 1}]}')$$,
    '22023', 'result: the key "PassWord" is not allowed', 'a denied key is refused at any depth and in any letter case'
);
select dotq.fn_config_set('queue.payload.max_bytes', '10', 'test');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('mine'), 'w1', '"123456789"')$$,
    '22023', 'result: is 11 bytes long', 'a result one byte over queue.payload.max_bytes is refused'
);
select is(pg_temp.job('mine'), pg_temp.was('mine'), 'a refused result leaves the job with its holder');
select is(
    dotq.fn_job_ack(pg_temp.id('mine'), 'w1', '"12345678"') ->> 'state', 'succeeded',
    'a result of exactly queue.payload.max_bytes is accepted'
);

-- Gates.
select dotq.fn_config_set('queue.payload.max_bytes', '1000', 'test');
select pg_temp.leased('gated');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('gated'), pg_temp.lease('gated'))$$,
    'JQ001', 'the gate queue.job_substrate.enabled is closed', 'a closed master gate refuses an ack'
);
select throws_ok(
    $$select dotq.fn_job_ack(pg_temp.id('first'), (select lease from handle))$$,
    'JQ001', null, 'a closed master gate refuses a repeated ack too'
);
select is(pg_temp.job('gated'), pg_temp.was('gated'), 'a job stays leased while the gate is closed');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
create temp table gate_test as select pg_temp.id('gated') as job_id, pg_temp.lease('gated') as lease;
grant select on gate_test to dotq_worker;
set local role dotq_worker;
select lives_ok($$select dotq.fn_job_ack(job_id, lease) from gate_test$$, 'a worker finishes its job while the queue drains');
reset role;
select is(pg_temp.job('gated') ->> 'state', 'succeeded', 'draining does not keep a job from ending');

select * from finish();
rollback;
