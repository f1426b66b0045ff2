drop view if exists dotq.v_worker_fleet;
create view dotq.v_worker_fleet as
select
    worker.worker_id::text,
    worker.hostname::text,
    worker.version,
    case
        when worker.last_heartbeat_at > clock.now - clock.timeout / 2 then 'fresh'
        when worker.last_heartbeat_at > clock.now - clock.timeout then 'warning'
        else 'stale'
    end as status,
    worker.started_at,
    worker.last_heartbeat_at,
    extract(epoch from clock.now - worker.last_heartbeat_at) as seconds_since_heartbeat,
    worker.pool_size,
    coalesce(held.leases, 0) as leases_held,
    held.oldest_picked_at,
    worker.kinds,
    worker.affinity_keys,
    (
        select array_agg(leader.duty::text order by leader.duty)
        from dotq.queue_leader as leader
        where leader.worker_id = worker.worker_id and leader.leader_until > clock.now
    ) as leads
from dotq.queue_worker as worker
cross join (
    select dotq.fn_clock_now() as now, make_interval(secs => dotq.fn_config_integer('queue.worker.timeout_sec')) as timeout
) as clock
left join (
    select lease_owner, count(*) as leases, min(picked_at) as oldest_picked_at
    from dotq.job_queue
    where state in ('leased', 'in_progress')
    group by lease_owner
) as held on held.lease_owner = worker.worker_id
order by worker.worker_id;

comment on view dotq.v_worker_fleet is 'Every registered worker: when it was last heard of, what it takes, how many leases it holds, which duties it leads.';
grant select on dotq.v_worker_fleet to dotq_worker, dotq_operator, dotq_reader;
