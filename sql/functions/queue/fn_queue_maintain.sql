-- Nobody waits for anybody here: a row that another worker has locked is in good hands.
create or replace function dotq.fn_queue_maintain(p_worker_id text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_leader jsonb;
    l_removed integer := 0;
begin
    perform dotq.fn_worker_id_assert(p_worker_id);
    perform from dotq.queue_leader where duty = 'maintenance' for update skip locked;

    if not found and exists (select from dotq.queue_leader where duty = 'maintenance') then
        return jsonb_build_object('ok', true, 'ran', false, 'leader', null, 'term', null);
    end if;

    l_leader := dotq.fn_leader_acquire('maintenance', p_worker_id, 30);

    if not (l_leader ->> 'is_leader')::boolean then
        return jsonb_build_object('ok', true, 'ran', false, 'leader', l_leader ->> 'leader', 'term', l_leader -> 'term');
    end if;

    with silent as materialized (
        select worker_id
        from dotq.queue_worker
        where last_heartbeat_at < dotq.fn_clock_now() - make_interval(secs => dotq.fn_config_integer('queue.worker.timeout_sec'))
          and worker_id <> p_worker_id
        for update skip locked
    )
    delete from dotq.queue_worker as w
    using silent
    where w.worker_id = silent.worker_id;
    get diagnostics l_removed = row_count;

    return jsonb_build_object(
        'ok', true, 'ran', true, 'leader', p_worker_id, 'term', l_leader -> 'term',
        'workers_removed', l_removed, 'reap', dotq.fn_queue_reap(1000)
    );
end
$fn$;

comment on function dotq.fn_queue_maintain is
'Run the duties that are due, if this worker leads the duty "maintenance" or can take it over: reap leases, remove workers
that were not heard of. Their jobs come back when their leases run out, never earlier. {ok, ran, leader, term, workers_removed, reap}; the leader is null while another one is just at it.
Raises 22023 (bad worker id).';
revoke all on function dotq.fn_queue_maintain from public;
grant execute on function dotq.fn_queue_maintain to dotq_worker, dotq_operator;
