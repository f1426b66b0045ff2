-- The row lock is the fence: the reaper skips a locked job, and a claim or a forced cancel waits for the caller's commit.
create or replace function dotq.fn_fence_assert(p_job_id uuid, p_lease text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dotq.fn_job_lock(p_job_id, p_lease);
end
$fn$;

comment on function dotq.fn_fence_assert is
'Raise unless the lease is current, and keep it so until the caller''s transaction ends: what that transaction writes is written
by the holder of the job or not at all. Call it shortly before the commit, because heartbeats of the job wait meanwhile.
Raises 22023 (malformed lease), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_fence_assert from public;
grant execute on function dotq.fn_fence_assert to dotq_worker, dotq_operator;
