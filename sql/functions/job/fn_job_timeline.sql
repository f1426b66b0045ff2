create or replace function dotq.fn_job_timeline(p_job_id uuid)
returns table (at timestamptz, event text, actor text, detail text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dotq.fn_job_get(p_job_id);

    return query
    select e.at, e.event, e.actor, e.detail
    from (
        select 1 as place, q.created_at as at, 'enqueued' as event, q.actor::text as actor,
            concat_ws(', ', 'priority ' || q.priority, 'replay of ' || q.replay_of) as detail
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 2, q.picked_at, 'claimed', q.lease_owner, format('attempt %s of %s', q.attempts, q.max_attempts)
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 3, q.started_at, 'first started', null, null
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 4, q.cancel_requested_at, 'cancel requested', q.cancel_requested_by, null
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 5, q.updated_at, 'retry planned', null, concat_ws(': ', 'due ' || to_char(q.scheduled_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', q.last_error)
        from dotq.job_queue as q where q.job_id = p_job_id and q.state = 'retry_waiting'
        union all
        select 6, q.lease_until, 'lease ends', q.lease_owner, 'unless it is renewed'
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 7, q.finished_at, q.state::text, null, q.last_error
        from dotq.job_queue as q where q.job_id = p_job_id
        union all
        select 8, d.moved_at, 'became a dead letter', d.moved_by::text, d.cause
        from dotq.job_dead_letter as d where d.job_id = p_job_id
        union all
        select 9, d.triaged_at, 'triaged: ' || d.triage_status, d.triaged_by, concat_ws(': ', d.triage_note, 'replayed as ' || d.replayed_as)
        from dotq.job_dead_letter as d where d.job_id = p_job_id
    ) as e
    where e.at is not null
    order by e.at, e.place;
end
$fn$;

comment on function dotq.fn_job_timeline is
'What is known of a job''s life, in order of time: the first start, the newest claim, cancel, end, dead letter and triage.
Raises 22023 (no id), JQ002 (no such job).';
revoke all on function dotq.fn_job_timeline from public;
grant execute on function dotq.fn_job_timeline to dotq_operator;
