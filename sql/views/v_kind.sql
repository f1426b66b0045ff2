drop view if exists dotq.v_kind;
create view dotq.v_kind as
select
    kind.job_kind::text,
    case
        when not kind.enabled then 'disabled'
        when kind.paused_at is not null and (kind.paused_until is null or kind.paused_until > dotq.fn_clock_now()) then 'paused'
        else 'active'
    end as status,
    kind.paused_until,
    kind.paused_by,
    kind.pause_reason,
    kind.default_priority::integer,
    coalesce(kind.max_attempts, dotq.fn_config_integer('queue.retry.max_attempts_default'))::integer as max_attempts,
    coalesce(kind.lease_seconds, dotq.fn_config_integer('queue.lease.duration_sec')) as lease_seconds,
    kind.backoff_strategy,
    kind.backoff_base_sec,
    kind.backoff_cap_sec,
    kind.backoff_jitter,
    kind.on_crash,
    kind.crash_limit,
    kind.dedupe,
    kind.payload_schema is not null as has_schema,
    coalesce(kind.max_payload_bytes, dotq.fn_config_integer('queue.payload.max_bytes')) as max_payload_bytes,
    kind.owner_agent,
    kind.description,
    kind.registered_by,
    kind.created_at,
    kind.updated_at
from dotq.job_kind as kind
order by kind.job_kind;

comment on view dotq.v_kind is 'The policy of every kind, with what is configured for all filled in.';
grant select on dotq.v_kind to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
