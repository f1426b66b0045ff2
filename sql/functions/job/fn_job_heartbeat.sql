-- A renewal never shortens a lease: a late answer to an earlier, longer one must not take time away.
create or replace function dotq.fn_job_heartbeat(
    p_job_id        uuid,
    p_lease         text,
    p_lease_seconds integer default null,
    p_progress      jsonb default null,
    p_checkpoint    jsonb default null
)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_lease record;
    l_job record;
    l_now timestamptz;
    l_max_bytes integer := dotq.fn_config_integer('queue.payload.max_bytes');
begin
    l_lease := dotq.fn_lease_parse(p_lease);
    perform dotq.fn_lease_seconds_assert(p_lease_seconds);
    perform dotq.fn_json_assert('progress', p_progress, l_max_bytes, false);
    perform dotq.fn_json_assert('checkpoint', p_checkpoint, l_max_bytes, false);

    perform from dotq.job_queue where job_id = p_job_id for update;
    l_now := dotq.fn_clock_now();

    update dotq.job_queue
    set state = 'in_progress',
        started_at = coalesce(started_at, l_now),
        lease_seconds = coalesce(p_lease_seconds, lease_seconds),
        lease_until = greatest(lease_until, l_now + make_interval(secs => coalesce(p_lease_seconds, lease_seconds))),
        progress = coalesce(p_progress, progress),
        checkpoint = coalesce(p_checkpoint, checkpoint),
        updated_at = l_now
    where job_id = p_job_id
      and lease_owner = l_lease.owner
      and (l_lease.token is null or lease_token = l_lease.token)
    returning lease_until, cancel_requested_at is not null as cancel_requested into l_job;

    if not found then
        perform dotq.fn_lease_refuse(p_job_id, p_lease);
    end if;

    return jsonb_build_object(
        'ok', true, 'job_id', p_job_id, 'lease_until', l_job.lease_until, 'cancel_requested', l_job.cancel_requested,
        'drain', not (dotq.fn_config_boolean('queue.job_substrate.enabled') and dotq.fn_config_boolean('queue.claim.enabled'))
    );
end
$fn$;

comment on function dotq.fn_job_heartbeat is
'Renew a lease, store progress and checkpoint, and learn in one round trip whether to stop: {ok, job_id, lease_until,
cancel_requested, drain}. Drain is true while no more work is handed out. Works while the gates are closed.
Raises 22023 (bad argument, denied key), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_heartbeat from public;
grant execute on function dotq.fn_job_heartbeat to dotq_worker, dotq_operator;
