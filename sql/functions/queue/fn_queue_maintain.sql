create or replace function dotq.fn_queue_maintain(p_worker_id text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_leader jsonb := dotq.fn_leader_acquire('maintenance', p_worker_id, 30);
    l_removed integer := 0;
begin
    if not (l_leader ->> 'is_leader')::boolean then
        return jsonb_build_object('ok', true, 'ran', false, 'leader', l_leader ->> 'leader', 'term', l_leader -> 'term');
    end if;

    delete from dotq.queue_worker
    where last_heartbeat_at < dotq.fn_clock_now() - make_interval(secs => dotq.fn_config_integer('queue.worker.timeout_sec'))
      and worker_id <> p_worker_id;
    get diagnostics l_removed = row_count;

    return jsonb_build_object(
        'ok', true, 'ran', true, 'leader', p_worker_id, 'term', l_leader -> 'term',
        'workers_removed', l_removed, 'reap', dotq.fn_queue_reap(1000)
    );
end
$fn$;

comment on function dotq.fn_queue_maintain is
'Run the duties that are due, if this worker leads the duty "maintenance" or can take it over: reap leases, remove workers
that were not heard of. Their jobs come back when their leases run out, never earlier. {ok, ran, leader, term, workers_removed, reap}.
Raises 22023 (bad worker id).';
revoke all on function dotq.fn_queue_maintain from public;
grant execute on function dotq.fn_queue_maintain to dotq_worker, dotq_operator;
