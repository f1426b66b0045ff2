begin;
select plan(34);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

create function pg_temp.status()
returns jsonb
language sql
as $fn$
select jsonb_build_array(verdict, reasons) from dotq.v_queue_status
$fn$;

-- As installed, and opened.
select is(
    pg_temp.status(),
    '["critical", ["the master gate queue.job_substrate.enabled is closed: nothing is enqueued, claimed or finished"]]',
    'after an install the status is critical, because the master gate is closed'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select is(
    (select to_jsonb(s) from dotq.v_queue_status as s),
    jsonb_build_object(
        'verdict', 'ok', 'reasons', '[]'::jsonb, 'ready_count', 0, 'delayed_count', 0, 'running_count', 0, 'expired_lease_count', 0,
        'oldest_ready_seconds', null, 'dead_letter_pending_count', 0, 'fresh_executor_count', 0, 'stale_executor_count', 0,
        'checked_at', timestamptz '2030-01-01 12:00:00+00'
    ),
    'an open and empty queue is ok, and no reason is given'
);
savepoint open;

-- What is counted.
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, scheduled_at, lease_owner, lease_until, lease_token, lease_seconds, finished_at)
values
    ('mail', 'queued', 'a', 'test', '2030-01-01 12:00:00+00', null, null, null, null, null),
    ('mail', 'retry_waiting', 'b', 'test', '2030-01-01 11:59:00+00', null, null, null, null, null),
    ('mail', 'queued', 'c', 'test', '2030-01-01 12:00:00.000001+00', null, null, null, null, null),
    ('mail', 'retry_waiting', 'd', 'test', '2030-01-01 12:30:00+00', null, null, null, null, null),
    ('mail', 'queued', 'e', 'test', '2030-01-01 12:30:00+00', null, null, null, null, null),
    ('mail', 'leased', 'f', 'test', '2030-01-01 11:00:00+00', 'w1', '2030-01-01 12:00:00.000001+00', 1, 300, null),
    ('mail', 'in_progress', 'g', 'test', '2030-01-01 11:00:00+00', 'w1', '2030-01-01 12:05:00+00', 2, 300, null),
    ('mail', 'succeeded', 'h', 'test', '2030-01-01 11:00:00+00', null, null, null, null, '2030-01-01 11:00:00+00');
select results_eq(
    $$ select verdict, ready_count, delayed_count, running_count, expired_lease_count, oldest_ready_seconds from dotq.v_queue_status $$,
    $$ values ('ok', 2::bigint, 3::bigint, 2::bigint, 0::bigint, 60.000000) $$,
    'jobs that are due are ready, others are delayed, leased ones run'
);
update dotq.job_queue set lease_until = '2030-01-01 12:00:00+00' where idempotency_key = 'f';
select is(pg_temp.status(), '["warning", ["leases that ran out and were not taken back: 1"]]', 'one lease that has ended is enough for a warning');
update dotq.job_queue set lease_until = '2030-01-01 12:00:00+00' where idempotency_key = 'g';
select is(
    pg_temp.status(), '["warning", ["leases that ran out and were not taken back: 2"]]', 'a lease that has ended is a warning, exactly from its end on'
);
select is((select expired_lease_count from dotq.v_queue_status), 2::bigint, 'a lease that has ended is counted');
rollback to savepoint open;

-- How long the oldest ready job has waited.
insert into dotq.job_queue (job_kind, idempotency_key, actor, scheduled_at) values ('mail', 'a', 'test', '2030-01-01 12:00:00+00');
select is((select oldest_ready_seconds from dotq.v_queue_status), 0::numeric, 'a job begins to wait exactly when it is due');
update dotq.job_queue set scheduled_at = '2030-01-01 11:55:00+00';
select is(pg_temp.status(), '["ok", []]', 'a job may wait for exactly queue.health.ready_age_warn_sec');
update dotq.job_queue set scheduled_at = '2030-01-01 11:54:59+00';
select is(
    pg_temp.status(), '["warning", ["the oldest ready job has waited 00:05:01, longer than 300 s"]]', 'one that has waited longer is a warning'
);
update dotq.job_queue set scheduled_at = '2030-01-01 11:00:00+00';
select is(
    pg_temp.status(), '["warning", ["the oldest ready job has waited 01:00:00, longer than 300 s"]]',
    'at exactly queue.health.ready_age_critical_sec it is still a warning'
);
update dotq.job_queue set scheduled_at = '2030-01-01 10:59:59+00', state = 'retry_waiting';
select is(
    pg_temp.status(), '["critical", ["the oldest ready job has waited 01:00:01, longer than 3600 s"]]', 'one that has waited longer still is critical'
);
update dotq.job_queue set scheduled_at = '2030-01-01 12:00:01+00';
select is(pg_temp.status(), '["ok", []]', 'a job that is not due yet does not wait');
rollback to savepoint open;

-- Gates.
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select is(pg_temp.status(), '["warning", ["the gate queue.enqueue.enabled is closed: new jobs are refused"]]', 'a queue that drains is a warning');
rollback to savepoint open;
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(pg_temp.status(), '["warning", ["the gate queue.claim.enabled is closed; ready jobs: 0"]]', 'a closed gate of claim is a warning');
insert into dotq.job_queue (job_kind, idempotency_key, actor, scheduled_at) values ('mail', 'a', 'test', '2030-01-01 11:59:00+00');
select is(
    pg_temp.status(), '["critical", ["the gate queue.claim.enabled is closed; ready jobs: 1"]]', 'a closed gate of claim is critical while jobs wait behind it'
);
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select is(
    pg_temp.status(),
    '["critical", ["the gate queue.claim.enabled is closed; ready jobs: 1", "the gate queue.enqueue.enabled is closed: new jobs are refused"]]',
    'the worst reason comes first'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(
    pg_temp.status(),
    '["critical", ["the master gate queue.job_substrate.enabled is closed: nothing is enqueued, claimed or finished"]]',
    'when the master gate is closed, the others do not matter'
);
rollback to savepoint open;

-- Dead letters.
insert into dotq.job_dead_letter (
    job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, triage_status, cause, error_fingerprint, priority,
    max_attempts, crash_count, metadata, job_created_at
)
select gen_random_uuid(), 'mail', '{}', 'boom', 5, 'test', status, 'test', status, 'exhausted', 'f', 100, 5, 0, '{}', now()
from unnest(array['acknowledged', 'manual_replay', 'closed']) as status;
select is(pg_temp.status(), '["ok", []]', 'dead letters that somebody has dealt with are no reason');
update dotq.job_dead_letter set triage_status = 'pending' where idempotency_key = 'manual_replay';
select is(pg_temp.status(), '["warning", ["dead letters that wait for triage: 1"]]', 'dead letters that nobody has looked at are a warning');
select is((select dead_letter_pending_count from dotq.v_queue_status), 1::bigint, 'they are counted');
update dotq.job_dead_letter set triage_status = 'escalated' where triage_status = 'pending';
select is(pg_temp.status(), '["critical", ["dead letters that are escalated: 1"]]', 'escalated ones are critical');
rollback to savepoint open;

-- Executors.
insert into dotq.queue_heartbeat (executor_name, executor_kind, last_tick_at)
values ('a', 'DOT', '2030-01-01 11:55:00.000001+00'), ('b', 'DOT', '2030-01-01 11:55:00+00'), ('c', 'DOT', '2030-01-01 11:50:00.000001+00');
select results_eq(
    $$ select verdict, fresh_executor_count, stale_executor_count from dotq.v_queue_status $$, $$ values ('ok', 1::bigint, 0::bigint) $$,
    'an executor is fresh for less than the threshold, and not stale before twice the threshold'
);
update dotq.queue_heartbeat set last_tick_at = '2030-01-01 11:50:00+00' where executor_name = 'c';
select is(pg_temp.status(), '["warning", ["stale executors: 1"]]', 'a stale executor is a warning');
insert into dotq.job_queue (job_kind, idempotency_key, actor, scheduled_at) values ('mail', 'a', 'test', '2030-01-01 11:59:00+00');
select is(pg_temp.status(), '["warning", ["stale executors: 1"]]', 'it stays one while another executor is fresh and jobs are ready');
update dotq.queue_heartbeat set last_tick_at = '2030-01-01 11:00:00+00';
select is(
    pg_temp.status(), '["critical", ["every executor is stale (3), and jobs are ready: 1"]]', 'when all are stale and jobs are ready, it is critical'
);
select is((select stale_executor_count from dotq.v_queue_status), 3::bigint, 'stale executors are counted');
delete from dotq.job_queue;
select is(pg_temp.status(), '["warning", ["stale executors: 3"]]', 'when all are stale and no job is ready, it is a warning');
rollback to savepoint open;

-- Kinds.
select dotq.fn_kind_set('mail', '{}', 'test');
select dotq.fn_kind_set('sync', '{}', 'test');
select dotq.fn_kind_pause('sync', 'ann');
select dotq.fn_kind_pause('mail', 'ann', null, '2030-01-01 12:00:00.000001+00');
select is(pg_temp.status(), '["warning", ["paused kinds: mail, sync"]]', 'paused kinds are a warning');
set local test.clock = '2030-01-01 12:00:00.000001+00';
select is(pg_temp.status(), '["warning", ["paused kinds: sync"]]', 'a pause is over exactly at its end');
insert into dotq.job_queue (job_kind, idempotency_key, actor, scheduled_at) values ('sync', 'old', 'test', '2030-01-01 10:00:00+00');
select is(pg_temp.status(), '["warning", ["paused kinds: sync"]]', 'a job that waits because its kind is paused is not late');
select dotq.fn_kind_resume('sync', 'ann');
select dotq.fn_kind_set('sync', '{"enabled": false}', 'ann');
select dotq.fn_kind_set('mail', '{"enabled": false}', 'ann');
select is(
    pg_temp.status(), '["warning", ["disabled kinds with waiting jobs: sync"]]', 'a disabled kind is a warning while jobs of it wait, and they are not late'
);
rollback to savepoint open;

-- Settings.
update dotq.dot_config set value = 'maybe' where key = 'queue.notify.enabled';
delete from dotq.dot_config where key = 'queue.lease.max_sec';
select is(
    pg_temp.status(),
    '["critical", ["settings that cannot be read count as their safe value: queue.lease.max_sec, queue.notify.enabled"]]',
    'settings that are missing or cannot be read are critical, and named'
);
rollback to savepoint open;
select dotq.fn_config_set('queue.health.ready_age_warn_sec', '10', 'test');
select dotq.fn_config_set('queue.health.ready_age_critical_sec', '20', 'test');
select dotq.fn_config_set('queue.heartbeat.stale_threshold_seconds', '5', 'test');
insert into dotq.job_queue (job_kind, idempotency_key, actor, scheduled_at) values ('mail', 'a', 'test', '2030-01-01 11:59:45+00');
insert into dotq.queue_heartbeat (executor_name, executor_kind, last_tick_at) values ('a', 'DOT', '2030-01-01 11:59:50+00');
select is(
    pg_temp.status(),
    '["critical", ["every executor is stale (1), and jobs are ready: 1", "the oldest ready job has waited 00:00:15, longer than 10 s"]]',
    'the thresholds are those of the settings'
);
rollback to savepoint open;

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_queue_status', 'select')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
