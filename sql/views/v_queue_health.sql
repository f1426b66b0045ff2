-- Jobs are counted by state alone, which an index answers without a look at the rows.
-- The first 25 columns are a contract; what was added later stands behind them. There is one row per executor, and one row
-- with no executor when none has ever ticked, so that the state of the queue always shows.
drop view if exists dotq.v_queue_health;
create view dotq.v_queue_health as
select
    beat.executor_name::text,
    beat.executor_kind,
    beat.last_tick_at,
    beat.last_tick_status,
    extract(epoch from clock.now - beat.last_tick_at) as seconds_since_tick,
    case
        when beat.executor_name is null then null
        when beat.last_tick_at > clock.now - make_interval(secs => setting.threshold) then 'fresh'
        when beat.last_tick_at > clock.now - make_interval(secs => 2 * setting.threshold) then 'warning'
        else 'stale'
    end as freshness,
    beat.ticks_total,
    beat.current_job_id,
    beat.lease_owner,
    job.queued_count,
    job.leased_count,
    job.in_progress_count,
    job.succeeded_count,
    job.failed_count,
    job.retry_waiting_count,
    job.dead_letter_count,
    job.cancelled_count,
    job.cleaned_count,
    letter.pending_count as dead_letter_pending_count,
    letter.open_count as dead_letter_open_count,
    setting.threshold as stale_threshold_seconds,
    setting.gate_job_substrate,
    setting.gate_worker,
    setting.gate_notify,
    setting.gate_heartbeat,
    setting.gate_enqueue,
    setting.gate_claim,
    setting.unreadable_settings,
    lease.expired_count as expired_lease_count,
    ready.scheduled_at as oldest_ready_at,
    extract(epoch from clock.now - ready.scheduled_at) as oldest_ready_seconds,
    clock.now as checked_at
from (select dotq.fn_clock_now() as now) as clock
cross join (
    select
        dotq.fn_config_integer('queue.heartbeat.stale_threshold_seconds') as threshold,
        dotq.fn_config_boolean('queue.job_substrate.enabled') as gate_job_substrate,
        dotq.fn_config_boolean('queue.worker.enabled') as gate_worker,
        dotq.fn_config_boolean('queue.notify.enabled') as gate_notify,
        dotq.fn_config_boolean('queue.heartbeat.enabled') as gate_heartbeat,
        dotq.fn_config_boolean('queue.enqueue.enabled') as gate_enqueue,
        dotq.fn_config_boolean('queue.claim.enabled') as gate_claim,
        (
            select array_agg(spec.key order by spec.key)
            from dotq.fn_config_spec() as spec
            left join dotq.dot_config as config on config.key = spec.key
            where not coalesce(dotq.fn_config_readable(spec.key, config.value), false)
        ) as unreadable_settings
) as setting
cross join (
    select
        count(*) filter (where state = 'queued') as queued_count,
        count(*) filter (where state = 'leased') as leased_count,
        count(*) filter (where state = 'in_progress') as in_progress_count,
        count(*) filter (where state = 'succeeded') as succeeded_count,
        count(*) filter (where state = 'failed') as failed_count,
        count(*) filter (where state = 'retry_waiting') as retry_waiting_count,
        count(*) filter (where state = 'dead_letter') as dead_letter_count,
        count(*) filter (where state = 'cancelled') as cancelled_count,
        count(*) filter (where state = 'cleaned') as cleaned_count
    from dotq.job_queue
) as job
cross join lateral (
    select count(*) as expired_count
    from dotq.job_queue
    where state in ('leased', 'in_progress') and lease_until <= clock.now
) as lease
cross join (
    select
        count(*) filter (where triage_status = 'pending') as pending_count,
        count(*) filter (where triage_status in ('pending', 'acknowledged', 'escalated')) as open_count
    from dotq.job_dead_letter
) as letter
left join lateral (
    select min(scheduled_at) as scheduled_at
    from dotq.job_queue
    where state in ('queued', 'retry_waiting') and scheduled_at <= clock.now
) as ready on true
left join dotq.queue_heartbeat as beat on true
order by beat.last_tick_at desc nulls last;

comment on view dotq.v_queue_health is
'Executors with how fresh their ticks are (fresh; warning from the threshold on; stale from twice the threshold on), the jobs by state, the dead letters that
wait for triage, the gates, settings that cannot be read, expired leases and the oldest job that is due.';
grant select on dotq.v_queue_health to dotq_worker, dotq_operator, dotq_reader;
