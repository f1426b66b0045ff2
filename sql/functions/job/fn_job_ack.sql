-- The row is found by its id and lease alone: naming the states here would let a plan made on an empty table walk the
-- partial lease index. A lease is set only in the states that may be acked.
create or replace function dotq.fn_job_ack(p_job_id uuid, p_lease text, p_result jsonb default null)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $fn$
declare
    l_lease record;
    l_now timestamptz := dotq.fn_clock_now();
begin
    l_lease := dotq.fn_lease_parse(p_lease);
    perform dotq.fn_json_assert('result', p_result, dotq.fn_config_integer('queue.payload.max_bytes'), false);
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');

    update dotq.job_queue
    set state = 'succeeded',
        started_at = coalesce(started_at, picked_at),
        finished_at = l_now,
        lease_owner = null,
        lease_until = null,
        result = p_result,
        last_error = null,
        updated_at = l_now
    where job_id = p_job_id
      and lease_owner = l_lease.owner
      and (l_lease.token is null or lease_token = l_lease.token);

    if found then
        return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', 'succeeded', 'duplicate', false);
    end if;

    -- The answer to the first ack was lost on its way and the worker asks again.
    perform from dotq.job_queue where job_id = p_job_id and lease_token = l_lease.token and state = 'succeeded';

    if not found then
        perform dotq.fn_lease_refuse(p_job_id, p_lease);
    end if;

    return jsonb_build_object('ok', true, 'job_id', p_job_id, 'state', 'succeeded', 'duplicate', true);
end
$fn$;

comment on function dotq.fn_job_ack is
'Finish a job as succeeded: {ok, job_id, state, duplicate}. Repeating an ack with the handle that finished the job is answered
with duplicate true and changes nothing.
Raises 22023 (malformed lease, denied key), JQ001 (gate closed), JQ002 (no such job), JQ003 (lease not current).';
revoke all on function dotq.fn_job_ack from public;
grant execute on function dotq.fn_job_ack to dotq_worker, dotq_operator;
