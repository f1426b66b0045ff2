drop view if exists dotq.v_dead_letter_group;
create view dotq.v_dead_letter_group as
select
    job_kind::text,
    error_fingerprint,
    count(*) as row_count,
    count(*) filter (where triage_status in ('pending', 'acknowledged', 'escalated')) as open_count,
    min(moved_at) as first_moved_at,
    max(moved_at) as last_moved_at,
    (array_agg(dead_letter_id order by moved_at desc))[1] as sample_id,
    (array_agg(final_error::text order by moved_at desc))[1] as sample_error
from dotq.job_dead_letter
group by job_kind, error_fingerprint
order by open_count desc, last_moved_at desc;

comment on view dotq.v_dead_letter_group is 'Dead letters grouped by kind and by the fingerprint of their error: two thousand failures are often three errors.';
grant select on dotq.v_dead_letter_group to dotq_operator;
