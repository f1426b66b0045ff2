drop view if exists dotq.v_job_stuck;
create view dotq.v_job_stuck as
select
    job.job_id,
    job.job_kind::text,
    job.state::text,
    job.lease_owner,
    job.lease_until,
    extract(epoch from clock.now - job.lease_until) as overdue_seconds,
    job.attempts::integer,
    job.max_attempts::integer,
    job.crash_count::integer,
    job.picked_at,
    job.cancel_requested_at,
    case
        when job.lease_until <= clock.now then 'its lease ran out and was not taken back'
        else 'its cancellation is overdue'
    end as reason
from dotq.job_queue as job
cross join (
    select dotq.fn_clock_now() as now, make_interval(secs => dotq.fn_config_integer('queue.cancel.grace_sec')) as grace
) as clock
where job.state in ('leased', 'in_progress')
  and (job.lease_until <= clock.now or job.cancel_requested_at <= clock.now - clock.grace)
order by job.lease_until;

comment on view dotq.v_job_stuck is 'Jobs whose lease ran out, or whose cancellation is overdue; fn_queue_reap takes them back.';
grant select on dotq.v_job_stuck to dotq_worker, dotq_operator, dotq_reader;
