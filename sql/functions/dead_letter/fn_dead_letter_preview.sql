create or replace function dotq.fn_dead_letter_preview(p_letter dotq.job_dead_letter)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select case
    when not coalesce(kind.enabled, false) then jsonb_build_object('outcome', 'kind_disabled', 'job_id', null)
    when taken.job_id is not null then jsonb_build_object('outcome', 'key_taken', 'job_id', taken.job_id)
    else jsonb_build_object('outcome', 'would_replay', 'job_id', null)
end
from (select) as one
left join dotq.job_kind as kind on kind.job_kind = p_letter.job_kind
left join lateral dotq.fn_job_by_key(
    p_letter.job_kind, nullif(p_letter.idempotency_key, p_letter.job_id::text), p_letter.job_id
) as taken on true
$fn$;

comment on function dotq.fn_dead_letter_preview is 'What fn_dead_letter_revive would answer for an open dead letter, without doing it.';
revoke all on function dotq.fn_dead_letter_preview from public;
