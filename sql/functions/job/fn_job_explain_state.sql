create or replace function dotq.fn_job_explain_state(p_job dotq.job_queue)
returns table (rank integer, blocker text, detail text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select 10, 'ended', format('the job is %s since %s', p_job.state, p_job.finished_at),
    (
        select format('select dotq.fn_dead_letter_replay(%L, %L);', d.dead_letter_id, session_user)
        from dotq.job_dead_letter as d
        where d.job_id = p_job.job_id and d.triage_status in ('pending', 'acknowledged', 'escalated')
    )
where p_job.finished_at is not null
union all
select 20, 'lease_expired', format('worker %s let its lease run out at %s', p_job.lease_owner, p_job.lease_until), 'select dotq.fn_queue_reap();'
where p_job.lease_until <= dotq.fn_clock_now()
union all
select 20, 'leased', format('worker %s holds it until %s', p_job.lease_owner, p_job.lease_until),
    format('select dotq.fn_job_release(%L, %L);', p_job.job_id, p_job.lease_owner || '#' || p_job.lease_token)
where p_job.lease_until > dotq.fn_clock_now()
union all
select 50, 'not_due', format('due at %s, in %s', p_job.scheduled_at, date_trunc('second', p_job.scheduled_at - dotq.fn_clock_now() + interval '999 milliseconds'))
        || case p_job.state when 'retry_waiting' then format(', after attempt %s of %s failed: %s', p_job.attempts, p_job.max_attempts, left(p_job.last_error, 200)) else '' end,
    format('select dotq.fn_job_reschedule(%L, %L);', p_job.job_id, session_user)
where p_job.state in ('queued', 'retry_waiting') and p_job.scheduled_at > dotq.fn_clock_now()
$fn$;

comment on function dotq.fn_job_explain_state is 'Blockers that lie in the job itself: it has ended, is leased, or is not due.';
revoke all on function dotq.fn_job_explain_state from public;
