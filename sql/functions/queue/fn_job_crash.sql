create or replace function dotq.fn_job_crash(p_job dotq.job_queue)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_kind dotq.job_kind;
    l_error text := format(
        'lease expired: worker %s neither finished nor renewed attempt %s of %s in time', p_job.lease_owner, p_job.attempts, p_job.max_attempts
    );
begin
    select * into l_kind from dotq.job_kind where job_kind = p_job.job_kind;
    p_job.crash_count := p_job.crash_count + 1;

    if l_kind.on_crash = 'hold' then
        perform dotq.fn_job_bury(p_job, 'failed', 'unknown_outcome', 'unknown outcome: ' || l_error, 'reaper');
        return 'failed';
    elsif p_job.cancel_requested_at is not null then
        perform dotq.fn_job_drop(p_job, concat_ws('; ', p_job.last_error, l_error));
        return 'cancelled';
    elsif l_kind.on_crash = 'dead_letter' or p_job.attempts >= p_job.max_attempts or p_job.crash_count >= l_kind.crash_limit then
        perform dotq.fn_job_bury(p_job, 'dead_letter', 'crashed', l_error, 'reaper');
        return 'dead_letter';
    end if;

    perform dotq.fn_job_requeue(p_job, 'queued', interval '0', l_error);
    return 'queued';
end
$fn$;

comment on function dotq.fn_job_crash is
'Decide for one job, whose row the caller has locked, what follows a lease that ran out; returns its new state: queued, dead_letter, failed (held) or cancelled.';
revoke all on function dotq.fn_job_crash from public;
