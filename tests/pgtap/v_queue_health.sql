begin;
select plan(22);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

-- Before anything happens.
select is(
    (select to_jsonb(h) from dotq.v_queue_health as h),
    jsonb_build_object(
        'executor_name', null, 'executor_kind', null, 'last_tick_at', null, 'last_tick_status', null, 'seconds_since_tick', null, 'freshness', null,
        'ticks_total', null, 'current_job_id', null, 'lease_owner', null, 'queued_count', 0, 'leased_count', 0, 'in_progress_count', 0,
        'succeeded_count', 0, 'failed_count', 0, 'retry_waiting_count', 0, 'dead_letter_count', 0, 'cancelled_count', 0, 'cleaned_count', 0,
        'dead_letter_pending_count', 0, 'dead_letter_open_count', 0, 'stale_threshold_seconds', 300, 'gate_job_substrate', false, 'gate_worker', false,
        'gate_notify', false, 'gate_heartbeat', false
    ) || jsonb_build_object(
        'gate_enqueue', true, 'gate_claim', true, 'unreadable_settings', null, 'expired_lease_count', 0, 'oldest_ready_at', null,
        'oldest_ready_seconds', null, 'checked_at', timestamptz '2030-01-01 12:00:00+00'
    ),
    'after an install there is one row without an executor: no jobs, every gate as installed'
);

-- Jobs, a different number in each state.
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, scheduled_at, lease_owner, lease_until, lease_token, lease_seconds, finished_at)
select 'mail', state, state || n, 'test', '2030-01-01 11:59:00+00',
    case when state in ('leased', 'in_progress') then 'w1' end,
    case when state in ('leased', 'in_progress') then timestamptz '2030-01-01 12:00:00+00' + make_interval(secs => (n - 2) * 0.000001) end,
    case when state in ('leased', 'in_progress') then 1 end, case when state in ('leased', 'in_progress') then 1 end,
    case when state not in ('queued', 'leased', 'in_progress', 'retry_waiting') then timestamptz '2030-01-01 12:00:00+00' end
from (
    values
        ('queued', 1), ('leased', 2), ('in_progress', 3), ('succeeded', 4), ('failed', 5), ('retry_waiting', 6), ('dead_letter', 7), ('cancelled', 8),
        ('cleaned', 9)
) as made (state, many)
cross join lateral generate_series(1, many) as n;
select results_eq(
    $$ select queued_count, leased_count, in_progress_count, succeeded_count, failed_count, retry_waiting_count, dead_letter_count, cancelled_count,
           cleaned_count
       from dotq.v_queue_health $$,
    $$ values (1::bigint, 2::bigint, 3::bigint, 4::bigint, 5::bigint, 6::bigint, 7::bigint, 8::bigint, 9::bigint) $$,
    'jobs are counted in each of the nine states'
);
select is((select expired_lease_count from dotq.v_queue_health), 4::bigint, 'a lease counts as expired exactly from its end on');

-- The oldest job that is due.
update dotq.job_queue set scheduled_at = '2030-01-01 12:00:00.000001+00' where state in ('queued', 'retry_waiting');
select is((select oldest_ready_at::timestamptz from dotq.v_queue_health), null, 'a job that is not due yet is not ready');
update dotq.job_queue set scheduled_at = '2030-01-01 12:00:00+00' where state = 'queued';
select results_eq(
    $$ select oldest_ready_at::timestamptz, oldest_ready_seconds from dotq.v_queue_health $$, $$ values (timestamptz '2030-01-01 12:00:00+00', 0.000000) $$,
    'a job is ready exactly when it is due'
);
update dotq.job_queue set scheduled_at = '2030-01-01 11:58:30+00' where idempotency_key = 'retry_waiting3';
select results_eq(
    $$ select oldest_ready_at::timestamptz, oldest_ready_seconds from dotq.v_queue_health $$, $$ values (timestamptz '2030-01-01 11:58:30+00', 90.000000) $$,
    'the oldest ready job decides, a retry that is due as well; one that runs or has ended does not'
);

-- Dead letters.
insert into dotq.job_dead_letter (
    job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, triage_status, cause, error_fingerprint, priority,
    max_attempts, crash_count, metadata, job_created_at
)
select gen_random_uuid(), 'mail', '{}', 'boom', 5, 'test', status || n, 'test', status, 'exhausted', 'f', 100, 5, 0, '{}', now()
from (values ('pending', 1), ('acknowledged', 2), ('manual_replay', 4), ('escalated', 8), ('closed', 16)) as made (status, many)
cross join lateral generate_series(1, many) as n;
select results_eq(
    $$ select dead_letter_pending_count, dead_letter_open_count from dotq.v_queue_health $$, $$ values (1::bigint, 11::bigint) $$,
    'dead letters that nobody has looked at are pending; these, the acknowledged and the escalated are open'
);

-- Executors.
insert into dotq.queue_heartbeat (executor_name, executor_kind, last_tick_at, last_tick_status, ticks_total, current_job_id, lease_owner)
values
    ('b', 'DOT', '2030-01-01 11:55:00.000001+00', 'ok', 1, null, null),
    ('c', 'DOT', '2030-01-01 11:55:00+00', 'ok', 1, null, null),
    ('d', 'DOT', '2030-01-01 11:50:00.000001+00', 'ok', 1, null, null),
    ('e', 'DOT', '2030-01-01 11:50:00+00', 'ok', 1, null, null),
    ('a', 'Agent', '2030-01-01 11:59:00+00', 'warn', 7, '00000000-0000-0000-0000-00000000000a', 'w1');
select results_eq(
    $$ select executor_name, freshness from dotq.v_queue_health $$,
    $$ values ('a', 'fresh'), ('b', 'fresh'), ('c', 'warning'), ('d', 'warning'), ('e', 'stale') $$,
    'one row per executor, newest tick first: a warning from the threshold on, stale from twice the threshold on'
);
select results_eq(
    $$ select executor_kind, last_tick_at, last_tick_status, seconds_since_tick, ticks_total, current_job_id, lease_owner
       from dotq.v_queue_health where executor_name = 'a' $$,
    $$ values ('Agent', timestamptz '2030-01-01 11:59:00+00', 'warn', 60.000000, 7::bigint, uuid '00000000-0000-0000-0000-00000000000a', 'w1') $$,
    'an executor shows its newest tick'
);
select is(
    (select count(distinct (queued_count, failed_count, dead_letter_open_count, oldest_ready_at, gate_claim)) from dotq.v_queue_health), 1::bigint,
    'the state of the queue is the same in every row'
);

-- Settings.
select dotq.fn_config_set('queue.heartbeat.stale_threshold_seconds', '60', 'test');
select results_eq(
    $$ select stale_threshold_seconds, freshness from dotq.v_queue_health limit 1 $$, $$ values (60, 'warning') $$, 'the threshold is that of the settings'
);
create function pg_temp.gates()
returns text
language sql
as $fn$
select concat_ws(
    ' ', case when gate_job_substrate then 'job_substrate' end, case when gate_worker then 'worker' end, case when gate_notify then 'notify' end,
    case when gate_heartbeat then 'heartbeat' end, case when gate_enqueue then 'enqueue' end, case when gate_claim then 'claim' end
)
from dotq.v_queue_health
limit 1
$fn$;
select is(pg_temp.gates(), 'enqueue claim', 'the gates that are open show as open');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select is(pg_temp.gates(), 'claim', 'the gate of enqueue shows');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(pg_temp.gates(), '', 'the gate of claim shows');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select is(pg_temp.gates(), 'job_substrate', 'the master gate shows');
select dotq.fn_config_set('queue.worker.enabled', 'true', 'test');
select is(pg_temp.gates(), 'job_substrate worker', 'the gate of the worker loop shows');
select dotq.fn_config_set('queue.notify.enabled', 'true', 'test');
select is(pg_temp.gates(), 'job_substrate worker notify', 'the gate of notify shows');
select dotq.fn_config_set('queue.heartbeat.enabled', 'true', 'test');
select is(pg_temp.gates(), 'job_substrate worker notify heartbeat', 'the gate of heartbeats shows');
update dotq.dot_config set value = 'maybe' where key = 'queue.notify.enabled';
delete from dotq.dot_config where key = 'queue.claim.enabled';
select is(
    (select unreadable_settings from dotq.v_queue_health limit 1), array['queue.claim.enabled', 'queue.notify.enabled'],
    'settings that are missing or cannot be read are named'
);
select is(pg_temp.gates(), 'job_substrate worker heartbeat', 'a gate that cannot be read is closed');

-- The contract.
select is(
    (
        select array_agg(attname::text order by attnum)
        from pg_attribute where attrelid = 'dotq.v_queue_health'::regclass and attnum between 1 and 25
    ),
    array[
        'executor_name', 'executor_kind', 'last_tick_at', 'last_tick_status', 'seconds_since_tick', 'freshness', 'ticks_total', 'current_job_id',
        'lease_owner', 'queued_count', 'leased_count', 'in_progress_count', 'succeeded_count', 'failed_count', 'retry_waiting_count',
        'dead_letter_count', 'cancelled_count', 'cleaned_count', 'dead_letter_pending_count', 'dead_letter_open_count', 'stale_threshold_seconds',
        'gate_job_substrate', 'gate_worker', 'gate_notify', 'gate_heartbeat'
    ],
    'the first 25 columns keep their names and their order'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_queue_health', 'select')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
