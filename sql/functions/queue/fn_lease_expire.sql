-- Rows that somebody else is just finishing are skipped, not waited for: at the moment of expiry an ack and the reaper race
-- for the row lock, and the row as it is after the lock decides. The attempt was counted by the claim, so none is added.
create or replace function dotq.fn_lease_expire(p_limit integer, p_kinds text[] default null)
returns table (requeued integer, dead_lettered integer, held integer, cancelled integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_job dotq.job_queue;
    l_now timestamptz := dotq.fn_clock_now();
    l_end text;
begin
    requeued := 0; dead_lettered := 0; held := 0; cancelled := 0;

    for l_job in
        select q.*
        from dotq.job_queue as q
        where q.state in ('leased', 'in_progress')
          and q.lease_until <= l_now
          and (p_kinds is null or q.job_kind = any (p_kinds))
        order by q.lease_until
        limit p_limit
        for update skip locked
    loop
        l_end := dotq.fn_job_crash(l_job);
        requeued := requeued + (l_end = 'queued')::integer;
        dead_lettered := dead_lettered + (l_end = 'dead_letter')::integer;
        held := held + (l_end = 'failed')::integer;
        cancelled := cancelled + (l_end = 'cancelled')::integer;
    end loop;

    return next;
end
$fn$;

comment on function dotq.fn_lease_expire is 'Take back up to limit leases that ran out, of the given kinds or of all, each as the policy of its kind says; returns how many ended how.';
revoke all on function dotq.fn_lease_expire from public;
