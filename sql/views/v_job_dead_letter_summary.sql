drop view if exists dotq.v_job_dead_letter_summary;
create view dotq.v_job_dead_letter_summary as
select
    job_kind::text,
    triage_status,
    count(*) as row_count,
    count(distinct error_fingerprint) as distinct_errors,
    min(moved_at) as oldest_moved_at,
    max(moved_at) as newest_moved_at,
    max(attempts::integer) as max_attempts
from dotq.job_dead_letter
group by job_kind, triage_status
order by job_kind, triage_status;

comment on view dotq.v_job_dead_letter_summary is 'Dead letters by kind and triage status.';
grant select on dotq.v_job_dead_letter_summary to dotq_operator, dotq_reader;
