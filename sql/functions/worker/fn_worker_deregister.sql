create or replace function dotq.fn_worker_deregister(p_worker_id text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_was_registered boolean;
begin
    perform dotq.fn_worker_id_assert(p_worker_id);

    -- The term stays behind, so that the next leader's is higher.
    update dotq.queue_leader
    set leader_until = least(leader_until, dotq.fn_clock_now())
    where worker_id = p_worker_id;

    delete from dotq.queue_worker where worker_id = p_worker_id;
    l_was_registered := found;

    return jsonb_build_object(
        'ok', true, 'worker_id', p_worker_id, 'was_registered', l_was_registered,
        'leases_held', (select count(*) from dotq.job_queue where state in ('leased', 'in_progress') and lease_owner = p_worker_id)
    );
end
$fn$;

comment on function dotq.fn_worker_deregister is
'Take a worker off the list and give up the duties it leads. Leases it still holds stay until released or run out:
{ok, worker_id, was_registered, leases_held}. Raises 22023 (bad worker id).';
revoke all on function dotq.fn_worker_deregister from public;
grant execute on function dotq.fn_worker_deregister to dotq_worker, dotq_operator;
