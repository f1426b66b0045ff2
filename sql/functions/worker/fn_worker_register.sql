create or replace function dotq.fn_worker_register(
    p_worker_id     text,
    p_hostname      text,
    p_pool_size     integer,
    p_version       text default null,
    p_kinds         text[] default null,
    p_affinity_keys text[] default null,
    p_metadata      jsonb default '{}'
)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_now timestamptz := dotq.fn_clock_now();
    l_worker record;
begin
    perform dotq.fn_worker_id_assert(p_worker_id);
    perform dotq.fn_text_assert('hostname', p_hostname, 255);
    perform dotq.fn_text_assert('version', p_version, 100, false);
    perform dotq.fn_names_assert('kinds', p_kinds);
    perform dotq.fn_names_assert('affinity_keys', p_affinity_keys);
    perform dotq.fn_json_assert('metadata', p_metadata, 65536);

    if p_pool_size is null or p_pool_size not between 1 and 10000 then
        raise exception 'pool_size: % is out of range', coalesce(p_pool_size::text, 'null')
            using errcode = '22023', hint = 'Allowed: 1 to 10000 jobs at a time.';
    end if;

    insert into dotq.queue_worker as worker (
        worker_id, hostname, started_at, last_heartbeat_at, pool_size, version, kinds, affinity_keys, metadata
    )
    values (
        p_worker_id, p_hostname, l_now, l_now, p_pool_size, p_version, p_kinds, coalesce(p_affinity_keys, '{}'), coalesce(p_metadata, '{}')
    )
    on conflict (worker_id) do update
    set hostname = excluded.hostname,
        last_heartbeat_at = excluded.last_heartbeat_at,
        pool_size = excluded.pool_size,
        version = excluded.version,
        kinds = excluded.kinds,
        affinity_keys = excluded.affinity_keys,
        metadata = excluded.metadata
    returning started_at into l_worker;

    return jsonb_build_object('ok', true, 'worker_id', p_worker_id, 'started_at', l_worker.started_at, 'last_heartbeat_at', l_now);
end
$fn$;

comment on function dotq.fn_worker_register is
'Say that a worker is up and what it serves; repeating it says that it still is. {ok, worker_id, started_at, last_heartbeat_at}.
Raises 22023 (bad argument).';
revoke all on function dotq.fn_worker_register from public;
grant execute on function dotq.fn_worker_register to dotq_worker, dotq_operator;
