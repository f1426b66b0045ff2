-- What a key may hold is written here and nowhere else; fn_config_set, the readers and v_config all ask this list.
create or replace function dotq.fn_config_spec()
returns table (key text, value_type text, minimum integer, maximum integer, fallback text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
values
    ('queue.job_substrate.enabled', 'boolean', null::integer, null::integer, 'false'),
    ('queue.worker.enabled', 'boolean', null, null, 'false'),
    ('queue.notify.enabled', 'boolean', null, null, 'false'),
    ('queue.heartbeat.enabled', 'boolean', null, null, 'false'),
    ('queue.enqueue.enabled', 'boolean', null, null, 'false'),
    ('queue.claim.enabled', 'boolean', null, null, 'false'),
    ('queue.kind.strict', 'boolean', null, null, 'true'),
    ('queue.heartbeat.stale_threshold_seconds', 'integer', 1, 86400, '300'),
    ('queue.retry.max_attempts_default', 'integer', 1, 1000, '5'),
    ('queue.retry.backoff_base_sec', 'integer', 0, 86400, '10'),
    ('queue.lease.duration_sec', 'integer', 1, 604800, '300'),
    ('queue.lease.max_sec', 'integer', 1, 604800, '86400'),
    ('queue.cancel.grace_sec', 'integer', 0, 86400, '60'),
    ('queue.payload.max_bytes', 'integer', 2, 104857600, '262144'),
    ('queue.worker.timeout_sec', 'integer', 1, 86400, '120'),
    ('queue.health.ready_age_warn_sec', 'integer', 1, 2592000, '300'),
    ('queue.health.ready_age_critical_sec', 'integer', 1, 2592000, '3600')
$fn$;

comment on function dotq.fn_config_spec is
'Every setting with its type, range, and the safe value that counts when the stored one is missing or cannot be read.';
revoke all on function dotq.fn_config_spec from public;
grant execute on function dotq.fn_config_spec to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
