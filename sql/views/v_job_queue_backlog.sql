drop view if exists dotq.v_job_queue_backlog;
create view dotq.v_job_queue_backlog as
select
    job_kind::text,
    state::text,
    count(*) as row_count,
    min(created_at) as oldest_created_at,
    max(created_at) as newest_created_at,
    min(scheduled_at::timestamptz) filter (where state in ('queued', 'retry_waiting')) as next_scheduled_at,
    round(avg(attempts), 2) as avg_attempts,
    max(attempts::integer) as max_attempts
from dotq.job_queue
group by job_kind, state
order by job_kind, state;

comment on view dotq.v_job_queue_backlog is 'Jobs by kind and state: how many, how old, when the next is due, how many attempts they took.';
grant select on dotq.v_job_queue_backlog to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
