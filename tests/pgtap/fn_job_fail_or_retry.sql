begin;
select plan(33);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_fail_or_retry'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may report a failure, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_fail_or_retry'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

-- Another attempt.
select pg_temp.leased('retry');
select dotq.fn_job_heartbeat(pg_temp.id('retry'), 'w1', null, '10', '{"page": 2}');
select pg_temp.remember('retry');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
create temp table handle as select pg_temp.lease('retry') as lease;
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('retry'), pg_temp.lease('retry'), E'  boom\x01at line 3\n '),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('retry'), 'dead_letter_id', null)
        || '{"state": "retry_waiting", "attempts": 1, "max_attempts": 5, "scheduled_at": "2030-01-01T12:00:20+00:00"}',
    'a failed first attempt is tried again after ten seconds'
);
select is(
    pg_temp.job('retry'),
    pg_temp.was('retry') || '{
        "state": "retry_waiting", "scheduled_at": "2030-01-01T12:00:20+00:00", "lease_owner": null, "lease_until": null, "lease_token": null,
        "last_error": "boom at line 3", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job waits, free of its lease, with the error as one clean text; progress and checkpoint are kept'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job of the worker is touched');
select throws_ok(
    $$select dotq.fn_job_fail_or_retry(pg_temp.id('retry'), (select lease from handle), 'boom')$$,
    'JQ003', null, 'the same failure cannot be reported twice'
);
set local test.clock = '2030-01-01 12:00:20+00';
select dotq.fn_job_claim('w1', 60, array['retry']);
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('retry'), 'w1', 'boom', null) ->> 'scheduled_at',
    '2030-01-01T12:00:40+00:00',
    'the second wait is twice as long; not saying whether it is retryable means that it is; the plain worker id will do'
);
select dotq.fn_kind_set('fixed', '{"backoff_strategy": "fixed", "backoff_base_sec": 7}', 'ann');
select pg_temp.leased('fixed');
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('fixed'), 'w1', 'boom', true) ->> 'scheduled_at', '2030-01-01T12:00:27+00:00', 'a kind has its own backoff'
);

-- The last attempt.
select dotq.fn_job_enqueue('last', 'ann', 'last', p_max_attempts => 2);
select dotq.fn_job_claim('w1', 60, array['last']);
select is(dotq.fn_job_fail_or_retry(pg_temp.id('last'), 'w1', 'boom 1') ->> 'state', 'retry_waiting', 'the attempt before the last is tried again');
set local test.clock = '2030-01-01 12:01:00+00';
select dotq.fn_job_claim('w2', 60, array['last']);
select pg_temp.remember('last');
create temp table exhausted as select dotq.fn_job_fail_or_retry(pg_temp.id('last'), pg_temp.lease('last'), 'boom 2') as answer;
select is(
    (select answer from exhausted),
    jsonb_build_object(
        'ok', true, 'job_id', pg_temp.id('last'), 'state', 'dead_letter', 'attempts', 2, 'max_attempts', 2, 'scheduled_at', null,
        'dead_letter_id', (select dead_letter_id from dotq.job_dead_letter where job_id = pg_temp.id('last'))
    ),
    'after the last attempt the job is a dead letter, whose id is returned'
);
select isnt((select answer ->> 'dead_letter_id' from exhausted), null, 'that id is there');
select is(
    pg_temp.job('last'),
    pg_temp.was('last') || '{
        "state": "dead_letter", "finished_at": "2030-01-01T12:01:00+00:00", "lease_owner": null, "lease_until": null,
        "last_error": "boom 2", "updated_at": "2030-01-01T12:01:00+00:00"
    }',
    'the job has ended, with its newest error'
);
select results_eq(
    $$select cause, final_error::text, moved_by::text, attempts::integer from dotq.job_dead_letter where job_id = pg_temp.id('last')$$,
    $$values ('exhausted', 'boom 2', 'w2', 2)$$,
    'the dead letter says that the attempts were exhausted, by which worker, with which error'
);

-- Not retryable.
select pg_temp.leased('hopeless');
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('hopeless'), 'w1', 'no such user', false) - 'dead_letter_id',
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('hopeless')) || '{"state": "failed", "attempts": 1, "max_attempts": 5, "scheduled_at": null}',
    'an error that is not retryable ends the job as failed, whatever attempts are left'
);
select results_eq(
    $$select q.state::text, d.cause, d.final_error::text from dotq.job_queue as q join dotq.job_dead_letter as d using (job_id) where q.job_kind = 'hopeless'$$,
    $$values ('failed', 'not_retryable', 'no such user')$$,
    'it has a dead letter, which says why'
);
select dotq.fn_job_enqueue('both', 'ann', 'both', p_max_attempts => 1);
select dotq.fn_job_claim('w1', 60, array['both']);
select is(dotq.fn_job_fail_or_retry(pg_temp.id('both'), 'w1', 'boom', false) ->> 'state', 'failed', 'not retryable on the last attempt is failed, not dead_letter');

-- Cancelled meanwhile.
select pg_temp.leased('unwanted');
select dotq.fn_job_cancel(pg_temp.id('unwanted'), 'bob', 'too slow');
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('unwanted'), 'w1', 'interrupted', false),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('unwanted'), 'dead_letter_id', null)
        || '{"state": "cancelled", "attempts": 1, "max_attempts": 5, "scheduled_at": null}',
    'a job that was asked to cancel ends as cancelled when it fails, retryable or not'
);
select is(
    jsonb_build_array(pg_temp.job('unwanted') -> 'state', pg_temp.job('unwanted') -> 'cancel_requested_by', pg_temp.job('unwanted') -> 'last_error'),
    '["cancelled", "bob", "cancelled by bob: too slow; interrupted"]', 'it says who asked, why, and how it ended'
);
select is_empty($$select * from dotq.job_dead_letter where job_kind = 'unwanted'$$, 'and is no dead letter');

-- A lease that ran out.
select pg_temp.leased('late');
set local test.clock = '2030-01-01 12:03:00+00';
select is(
    dotq.fn_job_fail_or_retry(pg_temp.id('late'), pg_temp.lease('late'), 'boom') ->> 'state', 'retry_waiting',
    'a lease that ran out is good for a failure until somebody takes it back'
);

-- Refusals.
select pg_temp.leased('mine');
select pg_temp.waiting('waiting');
select throws_ok(
    $$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w2#' || split_part(pg_temp.lease('mine'), '#', 2), 'boom')$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok(
    $$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), (select lease from handle), 'boom')$$,
    'JQ003', null, 'the right worker with the token of another lease is refused'
);
select throws_ok($$select dotq.fn_job_fail_or_retry(pg_temp.id('waiting'), 'w1', 'boom')$$, 'JQ003', null, 'a job that nobody holds cannot fail');
select throws_ok(
    $$select dotq.fn_job_fail_or_retry('00000000-0000-7000-8000-000000000000', 'w1', 'boom')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_fail_or_retry(null, 'w1', 'boom')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), null, 'boom')$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w1#', 'boom')$$, '22023', null, 'a malformed lease is refused');
select throws_ok($$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w1', null)$$, '22023', 'error: must not be blank', 'the error is required');
select throws_ok($$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w1', E' \n\t')$$, '22023', 'error: must not be blank', 'a blank error is refused');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select throws_ok(
    $$select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w1', 'boom')$$,
    'JQ001', 'the gate queue.job_substrate.enabled is closed', 'a closed master gate refuses a failure'
);
select is(pg_temp.job('mine'), pg_temp.was('mine'), 'a refusal leaves the job with its holder');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');

create temp table given as select pg_temp.id('mine') as job_id, pg_temp.lease('mine') as lease;
grant select on given to dotq_worker;
set local role dotq_worker;
select lives_ok(
    $$select dotq.fn_job_fail_or_retry(job_id, lease, repeat('x', 10001)) from given$$, 'a worker can report a failure without rights on the tables'
);
reset role;
select is(char_length(pg_temp.job('mine') ->> 'last_error'), 10000, 'a long error is cut at 10000 characters');

select * from finish();
rollback;
