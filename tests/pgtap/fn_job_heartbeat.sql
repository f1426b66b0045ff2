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
        where has_function_privilege(role, 'dotq.fn_job_heartbeat'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may renew a lease, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_heartbeat'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select pg_temp.leased('mine');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), pg_temp.lease('mine'), 100, '{"done": 1}', '{"page": 2}'),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('mine'))
        || '{"lease_until": "2030-01-01T12:01:50+00:00", "cancel_requested": false, "drain": false}',
    'a heartbeat answers how long the lease is good, and that there is no reason to stop'
);
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine') || '{
        "state": "in_progress", "started_at": "2030-01-01T12:00:10+00:00", "lease_seconds": 100, "lease_until": "2030-01-01T12:01:50+00:00",
        "progress": {"done": 1}, "checkpoint": {"page": 2}, "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the first heartbeat starts the job; progress and checkpoint are stored, and nothing else changes'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job of the worker is touched');

select pg_temp.remember('mine');
set local test.clock = '2030-01-01 12:00:20+00';
select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1');
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine') || '{"lease_until": "2030-01-01T12:02:00+00:00", "updated_at": "2030-01-01T12:00:20+00:00"}',
    'a bare heartbeat renews by the length of the lease, keeps start, progress and checkpoint; the plain worker id will do'
);
select pg_temp.remember('mine');
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 1) ->> 'lease_until', '2030-01-01T12:02:00+00:00', 'a shorter renewal never shortens a lease'
);
select is(pg_temp.job('mine') -> 'lease_seconds', '1', 'its length counts from the next renewal on');
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 101) ->> 'lease_until', '2030-01-01T12:02:01+00:00', 'a longer one lengthens it'
);
select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', null, '50', '"half"');
select is(
    jsonb_build_array(pg_temp.job('mine') -> 'progress', pg_temp.job('mine') -> 'checkpoint'), '[50, "half"]', 'progress and checkpoint may be any JSON value'
);
set local test.clock = '2030-01-01 13:00:00+00';
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), pg_temp.lease('mine'), 60) ->> 'lease_until', '2030-01-01T13:01:00+00:00',
    'a lease that ran out can be renewed until somebody takes it back'
);

-- Why to stop.
select dotq.fn_job_cancel(pg_temp.id('mine'), 'ann');
select is(dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1') -> 'cancel_requested', 'true', 'the worker learns that a cancel was asked for');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1') -> 'drain', 'true', 'it learns that no more work is handed out, by the claim gate');
select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 90) - array['ok', 'job_id'],
    '{"lease_until": "2030-01-01T13:01:30+00:00", "cancel_requested": true, "drain": true}',
    'or by the master gate, which does not stop a renewal'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');

-- Refusals: the lease.
select pg_temp.remember('mine');
select pg_temp.waiting('waiting');
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), pg_temp.lease('bystander'))$$,
    'JQ003', null, 'the right worker with the token of another lease is refused'
);
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w2#' || split_part(pg_temp.lease('mine'), '#', 2))$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w2')$$, 'JQ003',
    format('the lease ''w2'' on job %s is not current: it is held by w1', pg_temp.id('mine')), 'another worker by its plain id is refused, and told who holds the job');
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('waiting'), 'w1')$$, 'JQ003', null, 'a job that nobody holds cannot be renewed');
select throws_ok(
    $$select dotq.fn_job_heartbeat('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_heartbeat(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1#x')$$, '22023', null, 'a malformed lease is refused');

-- Refusals: what is stored.
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 0)$$, '22023', 'lease_seconds: 0 is out of range', 'a lease of no time is refused');
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', -1)$$, '22023', 'lease_seconds: -1 is out of range', 'a negative lease is refused');
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 86401)$$, '22023', 'lease_seconds: 86401 is out of range', 'a lease over queue.lease.max_sec is refused'
);
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', null, '[{"SECRET": 1}]')$$,
    '22023', 'progress: the key "SECRET" is not allowed', 'progress with a denied key is refused, at any depth and in any letter case'
);
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', null, null, '{"a": {"token": 1}}')$$,
    '22023', 'checkpoint: the key token is not allowed', 'so is a checkpoint'
);
select dotq.fn_config_set('queue.payload.max_bytes', '4', 'test');
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', null, '12345')$$, '22023', 'progress: is 5 bytes long', 'progress over queue.payload.max_bytes is refused'
);
select throws_ok(
    $$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', null, null, '12345')$$, '22023', 'checkpoint: is 5 bytes long', 'so is a checkpoint over it'
);
select is(pg_temp.job('mine'), pg_temp.was('mine'), 'a refused heartbeat changes nothing');
select is(
    dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1', 86400, '1234', '1234') ->> 'lease_until', '2030-01-02T13:00:00+00:00',
    'progress and a checkpoint of exactly queue.payload.max_bytes, and a lease of exactly queue.lease.max_sec, are accepted'
);

create temp table given as select pg_temp.id('mine') as job_id, pg_temp.lease('mine') as lease;
grant select on given to dotq_worker;
set local role dotq_worker;
select lives_ok($$select dotq.fn_job_heartbeat(job_id, lease) from given$$, 'a worker can renew without rights on the tables');
reset role;
select dotq.fn_job_ack(pg_temp.id('mine'), 'w1');
select throws_ok($$select dotq.fn_job_heartbeat(pg_temp.id('mine'), 'w1')$$, 'JQ003', null, 'a job that has ended cannot be renewed');

select * from finish();
rollback;
