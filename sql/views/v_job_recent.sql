drop view if exists dotq.v_job_recent;
create view dotq.v_job_recent as
select
    job_id,
    job_kind::text,
    state::text,
    attempts::integer,
    created_at,
    picked_at,
    finished_at,
    extract(epoch from picked_at - created_at) as wait_seconds,
    extract(epoch from finished_at - picked_at) as run_seconds
from dotq.job_queue
where finished_at > (select dotq.fn_clock_now() - interval '1 hour')
order by finished_at desc;

comment on view dotq.v_job_recent is 'Jobs that ended in the last hour, newest first, with how long they waited and ran.';
grant select on dotq.v_job_recent to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
