-- Why:    the queue itself: jobs, dead letters, executor heartbeats, and the gates that open it.
-- Adds:   job_queue, job_dead_letter, queue_heartbeat, dot_config, dot_config_audit, the domains of their columns.
-- Locks:  nothing that exists before it.
-- Breaks: no driver; it is the first.
-- Undo:   drop schema dotq cascade.

-- Rules about one column are domains: PostgreSQL caches them and checks them only when the column is assigned, whereas
-- every CHECK of a table is planned again for every statement that touches the table.
create domain dotq.job_state as text
    constraint job_queue_state_check check (
        value = any (array[
            'queued', 'leased', 'in_progress', 'succeeded', 'failed',
            'retry_waiting', 'dead_letter', 'cancelled', 'cleaned'
        ])
    );

-- The ten denied keys, at any depth, in any letter case, with blanks around them or not.
create domain dotq.safe_json as jsonb
    constraint job_queue_payload_safe_check check (
        not jsonb_path_exists(
            value,
            'strict $.** ? (@.type() == "object").keyvalue().key ? (@ like_regex "^\\s*(body|content|raw|vector|embedding|secret|token|password|ssn|personal_data)\\s*$" flag "i")'
        )
    );

create domain dotq.kind_name as text
    constraint job_queue_job_kind_check check (btrim(value) <> '' and char_length(value) <= 200);
create domain dotq.nonblank_text as text
    constraint nonblank_text_check check (btrim(value) <> '');
create domain dotq.job_priority as integer
    constraint job_queue_priority_check check (value >= 0);
create domain dotq.attempt_count as integer
    constraint job_queue_attempts_check check (value >= 0);
create domain dotq.attempt_limit as integer
    constraint job_queue_max_attempts_check check (value >= 1);
create domain dotq.finite_time as timestamptz
    constraint finite_time_check check (isfinite(value));

comment on domain dotq.job_state is 'The nine states of a job.';
comment on domain dotq.safe_json is 'JSON without the ten denied keys, at any depth and in any letter case.';
comment on domain dotq.kind_name is 'Name of a kind of job: 1 to 200 characters, not only blanks.';
comment on domain dotq.nonblank_text is 'A text that is not blank.';
comment on domain dotq.job_priority is 'A whole number from 0; the lowest is served first.';
comment on domain dotq.attempt_count is 'A count from 0.';
comment on domain dotq.attempt_limit is 'A count from 1.';
comment on domain dotq.finite_time is 'A time that is not infinite.';

-- Every claim draws a number from here: a lease that was lost can never be mistaken for a later one.
create sequence dotq.lease_token_seq as bigint;
comment on sequence dotq.lease_token_seq is 'Numbers of leases, never used twice.';

create table dotq.job_queue (
    -- A version 7 uuid: ids made one after the other lie side by side in the index, which costs a fifth of the WAL.
    job_id              uuid not null default encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
                            placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                            from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
                            constraint job_queue_pkey primary key,
    job_kind            dotq.kind_name not null,
    state               dotq.job_state not null default 'queued',
    source_ref          text,
    target_ref          text,
    payload_ref         text,
    payload_json        dotq.safe_json not null default '{}',
    priority            dotq.job_priority not null default 100,
    scheduled_at        dotq.finite_time not null default now(),
    picked_at           timestamptz,
    finished_at         timestamptz,
    lease_owner         text,
    lease_until         timestamptz,
    attempts            dotq.attempt_count not null default 0,
    max_attempts        dotq.attempt_limit not null default 5,
    idempotency_key     text not null,
    actor               dotq.nonblank_text not null,
    run_id              uuid,
    last_error          text,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    lease_token         bigint,
    lease_seconds       integer,
    started_at          timestamptz,
    crash_count         dotq.attempt_count not null default 0,
    cancel_requested_at timestamptz,
    cancel_requested_by text,
    progress            dotq.safe_json,
    checkpoint          dotq.safe_json,
    result              dotq.safe_json,
    metadata            dotq.safe_json not null default '{}',
    affinity_key        text,
    workflow_id         uuid,
    replay_of           uuid,
    key_retained        boolean not null default false,
    constraint job_queue_lease_and_finish_check check (
        (lease_owner is null) = (lease_until is null)
        and (lease_owner is not null) = (state in ('leased', 'in_progress'))
        and (finished_at is not null) = (state in ('succeeded', 'failed', 'dead_letter', 'cancelled', 'cleaned'))
    )
)
with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);

-- One active job per kind and key. A job enqueued without a key carries its own id as key and stays out of the index.
create unique index job_queue_idempotency_active_uq on dotq.job_queue (job_kind, idempotency_key)
    where state in ('queued', 'leased', 'in_progress', 'retry_waiting') and idempotency_key <> job_id::text;
-- Kinds that dedupe against finished jobs too, for as long as those are kept.
create unique index job_queue_idempotency_retained_uq on dotq.job_queue (job_kind, idempotency_key)
    where key_retained;
-- In exactly the order of a claim.
create index job_queue_state_scheduled_idx on dotq.job_queue (priority, scheduled_at, job_id)
    where state in ('queued', 'retry_waiting');
-- Both states that hold a lease: an expired in_progress job must be found too.
create index job_queue_lease_until_idx on dotq.job_queue (lease_until)
    where state in ('leased', 'in_progress');
create index job_queue_job_kind_state_idx on dotq.job_queue (job_kind, state);
create index job_queue_created_at_idx on dotq.job_queue (created_at desc);

comment on table dotq.job_queue is 'Every job that is waiting, leased or recently finished; one row per job.';
comment on column dotq.job_queue.source_ref is 'Where the work comes from; a signal for people and handlers, never read by the queue.';
comment on column dotq.job_queue.target_ref is 'What the work is about; a signal for people and handlers, never read by the queue.';
comment on column dotq.job_queue.payload_ref is 'Where a large or sensitive input is kept, instead of in the payload.';
comment on column dotq.job_queue.priority is 'Low number first; 0 is the most urgent.';
comment on column dotq.job_queue.scheduled_at is 'Not claimed before this time; the end of the backoff while retry_waiting.';
comment on column dotq.job_queue.attempts is 'Executions begun: raised by the claim, given back by a release.';
comment on column dotq.job_queue.max_attempts is 'Executions allowed.';
comment on column dotq.job_queue.lease_token is 'Number of the newest lease; never used twice. Kept after the end, so that a repeated ack is recognised.';
comment on column dotq.job_queue.started_at is 'When the first attempt began to run.';
comment on column dotq.job_queue.crash_count is 'Leases that ran out without an answer.';
comment on column dotq.job_queue.key_retained is 'The idempotency key also holds after this job has finished, while its row is kept.';

create table dotq.job_dead_letter (
    dead_letter_id    uuid not null default gen_random_uuid() constraint job_dead_letter_pkey primary key,
    job_id            uuid not null,
    job_kind          dotq.kind_name not null,
    source_ref        text,
    target_ref        text,
    payload_ref       text,
    payload_json      dotq.safe_json not null,
    final_error       dotq.nonblank_text not null,
    attempts          dotq.attempt_count not null,
    actor             dotq.nonblank_text not null,
    run_id            uuid,
    idempotency_key   text not null,
    moved_at          timestamptz not null default now(),
    moved_by          dotq.nonblank_text not null,
    triage_status     text not null default 'pending'
                          constraint job_dead_letter_triage_status_check
                          check (triage_status in ('pending', 'acknowledged', 'manual_replay', 'escalated', 'closed')),
    triage_note       text,
    triaged_at        timestamptz,
    triaged_by        text,
    cause             text not null
                          constraint job_dead_letter_cause_check
                          check (cause in ('exhausted', 'not_retryable', 'crashed', 'unknown_outcome', 'moved')),
    error_fingerprint text not null,
    priority          dotq.job_priority not null,
    max_attempts      dotq.attempt_limit not null,
    crash_count       dotq.attempt_count not null,
    metadata          dotq.safe_json not null,
    affinity_key      text,
    workflow_id       uuid,
    job_created_at    timestamptz not null,
    replayed_as       uuid
);

-- No foreign key to job_queue: a dead letter outlives the job it came from.
create unique index job_dead_letter_job_id_uq on dotq.job_dead_letter (job_id);
create index job_dead_letter_triage_idx on dotq.job_dead_letter (triage_status, moved_at desc);
create index job_dead_letter_fingerprint_idx on dotq.job_dead_letter (job_kind, error_fingerprint, moved_at desc);

comment on table dotq.job_dead_letter is 'Jobs that ended badly, with all that triage and a replay need; survives the retention of job_queue.';
comment on column dotq.job_dead_letter.cause is 'exhausted: no attempts left; not_retryable: the worker said so; crashed: leases ran out; unknown_outcome: held for a person to decide; moved: by an operator.';
comment on column dotq.job_dead_letter.error_fingerprint is 'The same for errors that differ only in numbers, ids and quoted values.';
comment on column dotq.job_dead_letter.replayed_as is 'The newest job made from this dead letter.';

create table dotq.queue_heartbeat (
    executor_name    dotq.nonblank_text not null constraint queue_heartbeat_pkey primary key,
    executor_kind    text not null
                         constraint queue_heartbeat_executor_kind_check
                         check (executor_kind in ('DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter')),
    last_tick_at     timestamptz not null default now(),
    last_tick_status text not null default 'ok'
                         constraint queue_heartbeat_last_tick_status_check
                         check (last_tick_status in ('ok', 'warn', 'error')),
    ticks_total      bigint not null default 0,
    current_job_id   uuid,
    lease_owner      text,
    metadata         dotq.safe_json not null default '{}',
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now()
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 100);

create index queue_heartbeat_last_tick_idx on dotq.queue_heartbeat (last_tick_at);

comment on table dotq.queue_heartbeat is 'One row per executor: its newest tick.';

create table dotq.dot_config (
    key         text not null constraint dot_config_pkey primary key,
    value       text not null,
    description text not null default '',
    updated_at  timestamptz not null default now(),
    updated_by  text not null default session_user
);

comment on table dotq.dot_config is 'Gates and tuning. Change it with fn_config_set, which knows what each key may hold.';

create table dotq.dot_config_audit (
    audit_id   bigint generated always as identity constraint dot_config_audit_pkey primary key,
    key        text not null,
    old_value  text,
    new_value  text,
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null,
    login      text not null default session_user
);

create index dot_config_audit_key_idx on dotq.dot_config_audit (key, audit_id desc);

comment on table dotq.dot_config_audit is 'Who changed which gate, setting or kind, from what, to what, and when. A kind appears as kind:<name>, a rescheduled job as job:<id>.';

-- Everything is closed after an install: the queue does nothing until somebody opens it.
insert into dotq.dot_config (key, value, description)
values
    ('queue.job_substrate.enabled', 'false', 'Master gate: enqueue, claim, ack, fail and the reaper.'),
    ('queue.worker.enabled', 'false', 'Gate of the worker loop; a claim made by hand does not look at it.'),
    ('queue.notify.enabled', 'false', 'Gate of wake-ups by NOTIFY; polling works without it.'),
    ('queue.heartbeat.enabled', 'false', 'Gate of executor ticks.'),
    ('queue.heartbeat.stale_threshold_seconds', '300', 'An executor is in warning after this many seconds without a tick, and stale after twice as many.'),
    ('queue.retry.max_attempts_default', '5', 'Executions allowed for a job that does not say.'),
    ('queue.retry.backoff_base_sec', '10', 'Base of the backoff, in seconds.'),
    ('queue.lease.duration_sec', '300', 'Length of a lease when neither the caller nor the kind says.'),
    ('queue.enqueue.enabled', 'true', 'Close to refuse new jobs while what is there drains.'),
    ('queue.claim.enabled', 'true', 'Close to let running jobs finish without starting others.'),
    ('queue.kind.strict', 'false', 'Refuse jobs of kinds that are not registered, instead of registering them.'),
    ('queue.lease.max_sec', '86400', 'Longest lease a caller may ask for.'),
    ('queue.cancel.grace_sec', '60', 'A running job that was asked to cancel is fenced off after this many seconds.'),
    ('queue.payload.max_bytes', '262144', 'Largest payload, in bytes of its text, for kinds that do not say.'),
    ('queue.worker.timeout_sec', '120', 'A registered worker that was not heard of for this long is removed by maintenance.'),
    ('queue.health.ready_age_warn_sec', '300', 'The status turns to warning when the oldest ready job has waited this long.'),
    ('queue.health.ready_age_critical_sec', '3600', 'The status turns to critical when the oldest ready job has waited this long.')
on conflict (key) do nothing;
