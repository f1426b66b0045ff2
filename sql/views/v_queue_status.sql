drop view if exists dotq.v_queue_status;
create view dotq.v_queue_status as
with fact as (
    select
        clock.now,
        dotq.fn_config_boolean('queue.job_substrate.enabled') as open,
        dotq.fn_config_boolean('queue.enqueue.enabled') as enqueue_open,
        dotq.fn_config_boolean('queue.claim.enabled') as claim_open,
        dotq.fn_config_integer('queue.health.ready_age_warn_sec') as warn_sec,
        dotq.fn_config_integer('queue.health.ready_age_critical_sec') as critical_sec,
        dotq.fn_config_integer('queue.heartbeat.stale_threshold_seconds') as stale_sec,
        (select count(*) from dotq.job_queue where state in ('queued', 'retry_waiting') and scheduled_at <= clock.now) as ready,
        (select count(*) from dotq.job_queue where state in ('queued', 'retry_waiting') and scheduled_at > clock.now) as delayed,
        (select count(*) from dotq.job_queue where state in ('leased', 'in_progress')) as running,
        (select count(*) from dotq.job_queue where state in ('leased', 'in_progress') and lease_until <= clock.now) as expired,
        (
            select extract(epoch from clock.now - min(job.scheduled_at))
            from dotq.job_queue as job
            where job.state in ('queued', 'retry_waiting') and job.scheduled_at <= clock.now
              and not exists (
                  select
                  from dotq.job_kind as kind
                  where kind.job_kind = job.job_kind
                    and (not kind.enabled or kind.paused_at is not null and (kind.paused_until is null or kind.paused_until > clock.now))
              )
        ) as oldest_ready_seconds,
        (
            select string_agg(kind.job_kind, ', ' order by kind.job_kind)
            from dotq.job_kind as kind
            where not kind.enabled
              and exists (select from dotq.job_queue as job where job.job_kind = kind.job_kind and job.state in ('queued', 'retry_waiting'))
        ) as disabled,
        (select count(*) from dotq.job_dead_letter where triage_status = 'pending') as dead_pending,
        (select count(*) from dotq.job_dead_letter where triage_status = 'escalated') as dead_escalated,
        (select count(*) from dotq.queue_heartbeat where last_tick_at <= clock.now - make_interval(secs => 2 * dotq.fn_config_integer('queue.heartbeat.stale_threshold_seconds'))) as stale,
        (select count(*) from dotq.queue_heartbeat where last_tick_at > clock.now - make_interval(secs => dotq.fn_config_integer('queue.heartbeat.stale_threshold_seconds'))) as fresh,
        (select string_agg(job_kind, ', ' order by job_kind) from dotq.job_kind where paused_at is not null and (paused_until is null or paused_until > clock.now)) as paused,
        (
            select string_agg(spec.key, ', ' order by spec.key)
            from dotq.fn_config_spec() as spec
            left join dotq.dot_config as config on config.key = spec.key
            where not coalesce(dotq.fn_config_readable(spec.key, config.value), false)
        ) as unreadable
    from (select dotq.fn_clock_now() as now) as clock
),
finding as (
    select 2 as severity, 'the master gate queue.job_substrate.enabled is closed: nothing is enqueued, claimed or finished' as reason from fact where not open
    union all
    select 2, format('the oldest ready job has waited %s, longer than %s s', make_interval(secs => round(oldest_ready_seconds)::double precision), critical_sec) from fact where oldest_ready_seconds > critical_sec
    union all
    select 1, format('the oldest ready job has waited %s, longer than %s s', make_interval(secs => round(oldest_ready_seconds)::double precision), warn_sec) from fact where oldest_ready_seconds > warn_sec and oldest_ready_seconds <= critical_sec
    union all
    select 1, 'the gate queue.enqueue.enabled is closed: new jobs are refused' as reason from fact where open and not enqueue_open
    union all
    select case when ready > 0 then 2 else 1 end, format('the gate queue.claim.enabled is closed; ready jobs: %s', ready) from fact where open and not claim_open
    union all
    select 1, format('leases that ran out and were not taken back: %s', expired) from fact where expired > 0
    union all
    select 1, format('dead letters that wait for triage: %s', dead_pending) from fact where dead_pending > 0
    union all
    select 2, format('dead letters that are escalated: %s', dead_escalated) from fact where dead_escalated > 0
    union all
    select 2, format('every executor is stale (%s), and jobs are ready: %s', stale, ready) from fact where stale > 0 and fresh = 0 and ready > 0
    union all
    select 1, format('stale executors: %s', stale) from fact where stale > 0 and not (fresh = 0 and ready > 0)
    union all
    select 1, format('paused kinds: %s', paused) from fact where paused is not null
    union all
    select 1, format('disabled kinds with waiting jobs: %s', disabled) from fact where disabled is not null
    union all
    select 2, format('settings that cannot be read count as their safe value: %s', unreadable) from fact where unreadable is not null
)
select
    case coalesce((select max(severity) from finding), 0) when 2 then 'critical' when 1 then 'warning' else 'ok' end as verdict,
    coalesce((select array_agg(reason order by severity desc, reason) from finding), '{}') as reasons,
    fact.ready as ready_count,
    fact.delayed as delayed_count,
    fact.running as running_count,
    fact.expired as expired_lease_count,
    fact.oldest_ready_seconds,
    fact.dead_pending as dead_letter_pending_count,
    fact.fresh as fresh_executor_count,
    fact.stale as stale_executor_count,
    fact.now as checked_at
from fact;

comment on view dotq.v_queue_status is 'One row: ok, warning or critical, and the reasons in words. The age of the oldest ready job leaves paused and disabled kinds aside.';
grant select on dotq.v_queue_status to dotq_worker, dotq_operator, dotq_reader;
