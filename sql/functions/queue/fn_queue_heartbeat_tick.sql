create or replace function dotq.fn_queue_heartbeat_tick(
    p_executor_name  text,
    p_executor_kind  text,
    p_status         text default 'ok',
    p_current_job_id uuid default null,
    p_lease_owner    text default null,
    p_metadata       jsonb default '{}'
)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_tick record;
    l_now timestamptz := dotq.fn_clock_now();
begin
    perform dotq.fn_text_assert('executor_name', p_executor_name, 200);
    perform dotq.fn_text_assert('lease_owner', p_lease_owner, 200, false);
    perform dotq.fn_json_assert('metadata', p_metadata, 65536);

    if p_executor_kind is null or p_executor_kind not in ('DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter') then
        raise exception 'executor_kind: % is not a kind of executor', coalesce(quote_literal(dotq.fn_text_line(p_executor_kind)), 'null')
            using errcode = '22023', hint = 'Allowed: DOT, Agent, Hermes, Codex, PG_worker, external_worker, future_Kestra_adapter.';
    elsif p_status is null or p_status not in ('ok', 'warn', 'error') then
        raise exception 'status: % is not a status', coalesce(quote_literal(dotq.fn_text_line(p_status)), 'null')
            using errcode = '22023', hint = 'Allowed: ok, warn, error.';
    elsif not dotq.fn_config_boolean('queue.heartbeat.enabled') then
        return jsonb_build_object('ok', false, 'executor_name', p_executor_name, 'reason', 'gate_closed: queue.heartbeat.enabled');
    end if;

    insert into dotq.queue_heartbeat as beat (
        executor_name, executor_kind, last_tick_at, last_tick_status, ticks_total, current_job_id, lease_owner, metadata, updated_at
    )
    values (p_executor_name, p_executor_kind, l_now, p_status, 1, p_current_job_id, p_lease_owner, coalesce(p_metadata, '{}'), l_now)
    on conflict (executor_name) do update
    set executor_kind = excluded.executor_kind,
        last_tick_at = greatest(beat.last_tick_at, excluded.last_tick_at),
        last_tick_status = excluded.last_tick_status,
        ticks_total = beat.ticks_total + 1,
        current_job_id = excluded.current_job_id,
        lease_owner = excluded.lease_owner,
        metadata = excluded.metadata,
        updated_at = excluded.updated_at
    returning last_tick_at, ticks_total into l_tick;

    update dotq.queue_worker set last_heartbeat_at = l_now where worker_id = p_executor_name;

    return jsonb_build_object(
        'ok', true, 'executor_name', p_executor_name, 'last_tick_at', l_tick.last_tick_at, 'ticks_total', l_tick.ticks_total, 'reason', null
    );
end
$fn$;

comment on function dotq.fn_queue_heartbeat_tick is
'Say that an executor is alive: {ok, executor_name, last_tick_at, ticks_total, reason}. A worker registered under the same name
counts as heard of. While queue.heartbeat.enabled is closed nothing is written and ok is false.
Raises 22023 (bad argument, denied key in metadata).';
revoke all on function dotq.fn_queue_heartbeat_tick from public;
grant execute on function dotq.fn_queue_heartbeat_tick to dotq_worker, dotq_operator;
