begin;
select plan(28);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_cancel'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_operator'],
    'producers and operators may cancel, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_cancel'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

-- Waiting jobs end at once.
select pg_temp.waiting('waiting');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select is(
    dotq.fn_job_cancel(pg_temp.id('waiting'), 'bob', 'not needed'),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('waiting'), 'state', 'cancelled', 'cancel_requested', false),
    'a queued job is cancelled at once'
);
select is(
    pg_temp.job('waiting'),
    pg_temp.was('waiting') || '{
        "state": "cancelled", "finished_at": "2030-01-01T12:00:10+00:00", "cancel_requested_at": "2030-01-01T12:00:10+00:00",
        "cancel_requested_by": "bob", "last_error": "cancelled by bob: not needed", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the cancelled job says who cancelled it, when and why, and keeps everything else'
);
select pg_temp.leased('retrying');
select dotq.fn_job_fail_or_retry(pg_temp.id('retrying'), 'w1', 'boom');
select dotq.fn_job_cancel(pg_temp.id('retrying'), 'bob');
select is(
    jsonb_build_array(pg_temp.job('retrying') -> 'state', pg_temp.job('retrying') -> 'last_error'),
    '["cancelled", "cancelled by bob"]',
    'a job that waits for its next attempt is cancelled at once, without a reason if none is given'
);
select is_empty($$select * from dotq.job_dead_letter$$, 'a cancelled job is no dead letter');

-- Held jobs are asked.
select pg_temp.leased('leased');
update dotq.job_queue set last_error = 'earlier' where idempotency_key = 'leased';
select pg_temp.remember('leased');
set local test.clock = '2030-01-01 12:00:20+00';
select is(
    dotq.fn_job_cancel(pg_temp.id('leased'), 'bob', 'too slow'),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('leased'), 'state', 'leased', 'cancel_requested', true)
        || '{"forced_at": "2030-01-01T12:01:20+00:00"}',
    'a leased job is asked to stop, and the answer says when it will be forced: 60 seconds later'
);
select is(
    pg_temp.job('leased'),
    pg_temp.was('leased') || '{
        "cancel_requested_at": "2030-01-01T12:00:20+00:00", "cancel_requested_by": "bob",
        "last_error": "cancelled by bob: too slow", "updated_at": "2030-01-01T12:00:20+00:00"
    }',
    'a leased job keeps its lease and carries the request'
);
select pg_temp.remember('leased');
select dotq.fn_config_set('queue.cancel.grace_sec', '5', 'test');
set local test.clock = '2030-01-01 12:00:30+00';
select is(
    dotq.fn_job_cancel(pg_temp.id('leased'), 'cid', 'me too') ->> 'forced_at',
    '2030-01-01T12:00:25+00:00',
    'asking again does not postpone the deadline, which follows queue.cancel.grace_sec'
);
select is(
    pg_temp.job('leased'),
    pg_temp.was('leased') || '{"updated_at": "2030-01-01T12:00:30+00:00"}',
    'the first request keeps its time, its author and its reason'
);
select pg_temp.leased('running');
select dotq.fn_job_start(pg_temp.id('running'), 'w1');
select is(
    dotq.fn_job_cancel(pg_temp.id('running'), 'bob') ->> 'state', 'in_progress', 'a job in progress is asked too'
);
select is(pg_temp.job('running') ->> 'cancel_requested_by', 'bob', 'the request of a job in progress is stored');
select is(
    dotq.fn_job_heartbeat(pg_temp.id('running'), 'w1') -> 'cancel_requested', 'true', 'the worker learns of it with its next heartbeat'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');

-- Ended jobs.
select pg_temp.remember('waiting');
select throws_ok(
    $$select dotq.fn_job_cancel(pg_temp.id('waiting'), 'bob')$$,
    'JQ004', format('job %s is cancelled already', pg_temp.id('waiting')), 'a cancelled job cannot be cancelled again'
);
select is(pg_temp.job('waiting'), pg_temp.was('waiting'), 'a refused cancel changes nothing');
select pg_temp.leased('done');
select dotq.fn_job_ack(pg_temp.id('done'), 'w1');
select throws_ok($$select dotq.fn_job_cancel(pg_temp.id('done'), 'bob')$$, 'JQ004', null, 'a finished job cannot be cancelled');
select pg_temp.leased('failed');
select dotq.fn_job_fail_or_retry(pg_temp.id('failed'), 'w1', 'boom', false);
select throws_ok($$select dotq.fn_job_cancel(pg_temp.id('failed'), 'bob')$$, 'JQ004', null, 'a failed job cannot be cancelled');

-- Arguments.
select throws_ok($$select dotq.fn_job_cancel(null, 'bob')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_cancel('00000000-0000-7000-8000-000000000000', 'bob')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_cancel(pg_temp.id('bystander'), null)$$, '22023', 'actor: is required', 'the actor is required');
select throws_ok($$select dotq.fn_job_cancel(pg_temp.id('bystander'), ' ')$$, '22023', 'actor: must not be blank', 'a blank actor is refused');
select throws_ok(
    $$select dotq.fn_job_cancel(pg_temp.id('bystander'), repeat('x', 201))$$,
    '22023', 'actor: is 201 characters long', 'an actor of 201 characters is refused'
);
select throws_ok(
    $$select dotq.fn_job_cancel(pg_temp.id('bystander'), 'bob', '')$$, '22023', 'reason: must not be blank', 'a blank reason is refused'
);
select throws_ok(
    $$select dotq.fn_job_cancel(pg_temp.id('bystander'), 'bob', repeat('x', 1001))$$,
    '22023', 'reason: is 1001 characters long', 'a reason of 1001 characters is refused'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'bad arguments change nothing');
select lives_ok(
    $$select dotq.fn_job_cancel(pg_temp.id('bystander'), repeat('x', 200), repeat('y', 1000))$$,
    'an actor of 200 and a reason of 1000 characters are accepted'
);

select pg_temp.waiting('closed');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
create temp table closed as select pg_temp.id('closed') as job_id;
grant select on closed to dotq_producer;
set local role dotq_producer;
select is(
    (select dotq.fn_job_cancel(job_id, 'ann') ->> 'state' from closed), 'cancelled', 'a producer takes a job back even while the gates are closed'
);
reset role;

select * from finish();
rollback;
