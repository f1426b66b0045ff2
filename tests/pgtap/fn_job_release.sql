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
        where has_function_privilege(role, 'dotq.fn_job_release'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may hand a job back, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_release'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select pg_temp.leased('fresh');
select dotq.fn_job_heartbeat(pg_temp.id('fresh'), 'w1', null, '10', '{"page": 2}');
update dotq.job_queue set last_error = 'earlier', crash_count = 1 where idempotency_key = 'fresh';
select pg_temp.remember('fresh');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
create temp table handle as select pg_temp.lease('fresh') as lease;
select is(
    dotq.fn_job_release(pg_temp.id('fresh'), pg_temp.lease('fresh')),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('fresh'), 'state', 'queued', 'attempts', 0),
    'a job that is handed back is queued again and gets its attempt back'
);
select is(
    pg_temp.job('fresh'),
    pg_temp.was('fresh') || '{
        "state": "queued", "attempts": 0, "scheduled_at": "2030-01-01T12:00:10+00:00", "lease_owner": null, "lease_until": null,
        "lease_token": null, "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'it is due at once; error, crashes, progress and checkpoint stay'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job of the worker is touched');
select is(dotq.fn_job_claim('w2', 60, array['fresh']) #>> '{job,attempts}', '1', 'the next worker has the attempt');
select pg_temp.remember('fresh');
select throws_ok(
    $$select dotq.fn_job_release(pg_temp.id('fresh'), (select lease from handle))$$, 'JQ003', null, 'who handed it back cannot take it from the next worker'
);
select is(pg_temp.job('fresh'), pg_temp.was('fresh'), 'the next worker keeps it');

select is(dotq.fn_job_release(pg_temp.id('fresh'), 'w2') ->> 'state', 'queued', 'the plain worker id of the holder is accepted');
select pg_temp.leased('odd');
update dotq.job_queue set attempts = 0 where idempotency_key = 'odd';
select is(dotq.fn_job_release(pg_temp.id('odd'), 'w1') -> 'attempts', '0', 'attempts never go below zero');

select dotq.fn_job_enqueue('second', 'ann', 'second');
update dotq.job_queue set attempts = 3 where idempotency_key = 'second';
select dotq.fn_job_claim('w1', 60, array['second']);
select is(dotq.fn_job_release(pg_temp.id('second'), 'w1') -> 'attempts', '3', 'exactly one attempt is given back');
select is(pg_temp.job('second') -> 'attempts', '3', 'and stored');

-- Asked to cancel.
select pg_temp.leased('unwanted');
select dotq.fn_job_cancel(pg_temp.id('unwanted'), 'bob', 'too slow');
select pg_temp.remember('unwanted');
set local test.clock = '2030-01-01 12:00:20+00';
select is(
    dotq.fn_job_release(pg_temp.id('unwanted'), pg_temp.lease('unwanted')),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('unwanted'), 'state', 'cancelled', 'attempts', 1),
    'a job that was asked to cancel ends when it is handed back'
);
select is(
    pg_temp.job('unwanted'),
    pg_temp.was('unwanted') || '{
        "state": "cancelled", "finished_at": "2030-01-01T12:00:20+00:00", "lease_owner": null, "lease_until": null,
        "last_error": "cancelled by bob: too slow", "updated_at": "2030-01-01T12:00:20+00:00"
    }',
    'as cancelled, and says by whom and why'
);

-- Refusals.
select throws_ok(
    $$select dotq.fn_job_release(pg_temp.id('bystander'), 'w2#' || split_part(pg_temp.lease('bystander'), '#', 2))$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok($$select dotq.fn_job_release(pg_temp.id('unwanted'), 'w1')$$, 'JQ003', null, 'a job that has ended cannot be handed back');
select throws_ok(
    $$select dotq.fn_job_release('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_release(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_job_release(pg_temp.id('bystander'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_release(pg_temp.id('bystander'), 'w1#')$$, '22023', null, 'a malformed lease is refused');
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'a refusal leaves the job with its holder');

select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
create temp table given as select pg_temp.id('bystander') as job_id, pg_temp.lease('bystander') as lease;
grant select on given to dotq_worker;
set local role dotq_worker;
select is((select dotq.fn_job_release(job_id, lease) ->> 'state' from given), 'queued', 'a worker can hand back its jobs while the gates are closed');
reset role;

select * from finish();
rollback;
