-- Why:    policy per kind of job; who works; who leads.
-- Adds:   job_kind, queue_worker, queue_leader.
-- Locks:  nothing that exists before it.
-- Breaks: no driver.
-- Undo:   drop table dotq.job_kind, dotq.queue_worker, dotq.queue_leader.

-- A null means "as configured for all kinds".
create table dotq.job_kind (
    job_kind          dotq.kind_name not null constraint job_kind_pkey primary key,
    enabled           boolean not null default true,
    paused_at         timestamptz,
    paused_until      timestamptz,
    paused_by         text,
    pause_reason      text,
    default_priority  dotq.job_priority not null default 100,
    max_attempts      dotq.attempt_limit,
    lease_seconds     integer constraint job_kind_lease_seconds_check check (lease_seconds >= 1),
    backoff_strategy  text not null default 'exponential'
                          constraint job_kind_backoff_strategy_check
                          check (backoff_strategy in ('exponential', 'quadratic', 'linear', 'fixed')),
    backoff_base_sec  integer constraint job_kind_backoff_base_check check (backoff_base_sec >= 0),
    backoff_cap_sec   integer constraint job_kind_backoff_cap_check check (backoff_cap_sec >= 0),
    backoff_jitter    numeric not null default 0 constraint job_kind_backoff_jitter_check check (backoff_jitter between 0 and 1),
    on_crash          text not null default 'retry'
                          constraint job_kind_on_crash_check check (on_crash in ('retry', 'dead_letter', 'hold')),
    crash_limit       integer constraint job_kind_crash_limit_check check (crash_limit >= 1),
    dedupe            text not null default 'active'
                          constraint job_kind_dedupe_check check (dedupe in ('active', 'retained')),
    payload_schema    jsonb,
    max_payload_bytes integer constraint job_kind_max_payload_bytes_check check (max_payload_bytes >= 2),
    owner_agent       text,
    description       text,
    registered_by     text not null,
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now(),
    constraint job_kind_pause_check check (paused_at is not null or (paused_until is null and paused_by is null and pause_reason is null))
);

comment on table dotq.job_kind is 'Policy per kind of job. An unknown kind registers itself with defaults unless queue.kind.strict is on.';
comment on column dotq.job_kind.on_crash is 'What follows when a lease runs out: retry; dead_letter; hold (a person decides, because nobody knows what the worker had done).';
comment on column dotq.job_kind.crash_limit is 'Leases that may run out before the job is buried, whatever attempts it has left; null: only attempts count.';
comment on column dotq.job_kind.dedupe is 'active: a key is free again when its job has finished; retained: it stays taken while the finished job is kept.';
comment on column dotq.job_kind.payload_schema is 'JSON Schema (the subset of fn_payload_problem) that every payload must satisfy.';
comment on column dotq.job_kind.owner_agent is 'The agent that jobs of this kind belong to.';

create table dotq.queue_worker (
    worker_id         dotq.nonblank_text not null constraint queue_worker_pkey primary key,
    hostname          dotq.nonblank_text not null,
    started_at        timestamptz not null default now(),
    last_heartbeat_at timestamptz not null default now(),
    pool_size         integer not null constraint queue_worker_pool_size_check check (pool_size >= 1),
    version           text,
    kinds             text[],
    affinity_keys     text[] not null default '{}',
    metadata          dotq.safe_json not null default '{}'
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 100);

create index queue_worker_heartbeat_idx on dotq.queue_worker (last_heartbeat_at);

comment on table dotq.queue_worker is 'Workers that are up: what they serve and when they were last heard of.';
comment on column dotq.queue_worker.kinds is 'The kinds this worker takes; null: every kind.';
comment on column dotq.queue_worker.affinity_keys is 'The affinity keys this worker takes, besides jobs that have none.';

-- One row per duty, not a flag per worker: two workers that both update a row of their own cannot see each other.
create table dotq.queue_leader (
    duty         dotq.nonblank_text not null constraint queue_leader_pkey primary key,
    worker_id    dotq.nonblank_text not null,
    term         bigint not null,
    acquired_at  timestamptz not null,
    leader_until timestamptz not null
)
with (fillfactor = 50);

comment on table dotq.queue_leader is 'Who leads which duty, in which term, until when. A term is never held by two workers.';
