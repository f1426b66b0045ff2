create or replace function dotq.fn_queue_reap(p_limit integer default 100)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_ended record;
    l_job dotq.job_queue;
    l_forced integer := 0;
    l_grace interval := make_interval(secs => dotq.fn_config_integer('queue.cancel.grace_sec'));
begin
    perform dotq.fn_limit_assert(p_limit, 10000);

    if not dotq.fn_config_boolean('queue.job_substrate.enabled') then
        return jsonb_build_object('ok', true, 'reaped', 0, 'reason', 'gate_closed: queue.job_substrate.enabled');
    end if;

    select * into l_ended from dotq.fn_lease_expire(p_limit);

    for l_job in
        select q.*
        from dotq.job_queue as q
        where q.state in ('leased', 'in_progress')
          and q.cancel_requested_at <= dotq.fn_clock_now() - l_grace
        limit p_limit
        for update skip locked
    loop
        perform dotq.fn_job_drop(l_job, concat_ws('; ', l_job.last_error, format('worker %s was fenced off', l_job.lease_owner)));
        l_forced := l_forced + 1;
    end loop;

    return jsonb_build_object(
        'ok', true,
        'reaped', l_ended.requeued + l_ended.dead_lettered + l_ended.held + l_ended.cancelled + l_forced,
        'requeued', l_ended.requeued, 'dead_lettered', l_ended.dead_lettered, 'held', l_ended.held,
        'cancelled', l_ended.cancelled + l_forced, 'reason', null
    );
end
$fn$;

comment on function dotq.fn_queue_reap is
'Take back leases that ran out, and end jobs whose cancellation is overdue, at most limit of each:
{ok, reaped, requeued, dead_lettered, held, cancelled, reason}. Does nothing while the master gate is closed. Safe to run
at any time, by anybody, twice at once. Raises 22023 (bad limit).';
revoke all on function dotq.fn_queue_reap from public;
grant execute on function dotq.fn_queue_reap to dotq_worker, dotq_operator;
