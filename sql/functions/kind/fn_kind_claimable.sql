create or replace function dotq.fn_kind_claimable(p_allowed_kinds text[], p_now timestamptz)
returns text[]
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select array_agg(job_kind::text)
from dotq.job_kind
where enabled
  and (paused_at is null or paused_until <= p_now)
  and (p_allowed_kinds is null or job_kind = any (p_allowed_kinds))
$fn$;

comment on function dotq.fn_kind_claimable is 'The kinds a claim may take now: registered, enabled, not paused, and among those allowed (null: all); null when there is none.';
revoke all on function dotq.fn_kind_claimable from public;
