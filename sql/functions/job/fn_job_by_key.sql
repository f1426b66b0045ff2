-- Two selects and not one with "or": each repeats the predicate of its unique index, or the planner could not use it.
create or replace function dotq.fn_job_by_key(p_job_kind text, p_idempotency_key text, p_except uuid default null)
returns table (job_id uuid, state text)
language sql
stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
select taken.job_id, taken.state
from (
    select q.job_id, q.state::text
    from dotq.job_queue as q
    where q.job_kind = p_job_kind
      and q.idempotency_key = p_idempotency_key
      and q.idempotency_key <> q.job_id::text
      and q.state in ('queued', 'leased', 'in_progress', 'retry_waiting')
    union all
    select q.job_id, q.state::text
    from dotq.job_queue as q
    where q.job_kind = p_job_kind
      and q.idempotency_key = p_idempotency_key
      and q.key_retained
) as taken
where taken.job_id is distinct from p_except
limit 1
$fn$;

comment on function dotq.fn_job_by_key is
'The job that holds a key of a kind against others: an active one, or a finished one of a kind that retains its keys; no row when the key is free.';
revoke all on function dotq.fn_job_by_key from public;
