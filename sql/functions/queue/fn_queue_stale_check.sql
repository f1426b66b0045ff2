-- Invoker's rights: it reads what its caller may read, and there is no table behind it that the caller may not.
create or replace function dotq.fn_queue_stale_check(p_threshold_seconds integer default null)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_threshold integer := p_threshold_seconds;
    l_executors jsonb;
begin
    if p_threshold_seconds not between 1 and 86400 then
        raise exception 'threshold_seconds: % is out of range', p_threshold_seconds
            using errcode = '22023', hint = 'Allowed: 1 to 86400, or null for queue.heartbeat.stale_threshold_seconds.';
    end if;

    select coalesce(p_threshold_seconds, max(stale_threshold_seconds)),
        coalesce(jsonb_agg(
            jsonb_build_object(
                'executor_name', executor_name, 'executor_kind', executor_kind, 'last_tick_at', last_tick_at,
                'seconds_since_tick', round(seconds_since_tick), 'current_job_id', current_job_id
            )
            order by last_tick_at
        ) filter (where seconds_since_tick >= coalesce(p_threshold_seconds, stale_threshold_seconds)), '[]')
    into l_threshold, l_executors
    from dotq.v_queue_health;

    return jsonb_build_object(
        'ok', true, 'threshold_seconds', l_threshold, 'stale_count', jsonb_array_length(l_executors), 'stale', l_executors
    );
end
$fn$;

comment on function dotq.fn_queue_stale_check is
'Executors that have not ticked for as long as the threshold or longer: {ok, threshold_seconds, stale_count, stale}. Reads only.
Raises 22023 (threshold out of range).';
revoke all on function dotq.fn_queue_stale_check from public;
grant execute on function dotq.fn_queue_stale_check to dotq_worker, dotq_operator, dotq_reader;
