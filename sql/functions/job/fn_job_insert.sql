-- The insert comes first and the look second: "look, then insert" loses the race and raises. The loop is for a duplicate
-- that ends between the two; it is bounded because a key can only be freed so often while one call looks on.
-- The transaction takes its id before it reads the clock: no row can then appear with a scheduled_at below a moment at
-- which a later transaction saw every older one finished. It also makes the answer "duplicate" wait for a synchronous
-- standby, exactly as the insert it reports had to.
create or replace function dotq.fn_job_insert(
    p_kind            dotq.job_kind,
    p_actor           text,
    p_idempotency_key text,
    p_payload_json    jsonb,
    p_source_ref      text,
    p_target_ref      text,
    p_payload_ref     text,
    p_priority        integer,
    p_scheduled_at    timestamptz,
    p_max_attempts    integer,
    p_run_id          uuid,
    p_metadata        jsonb default '{}',
    p_affinity_key    text default null,
    p_workflow_id     uuid default null,
    p_replay_of       uuid default null
)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_job_id uuid := dotq.fn_uuid_v7();
    l_now timestamptz;
    l_found record;
begin
    perform pg_current_xact_id();
    l_now := dotq.fn_clock_now();

    for attempt in 1 .. 100 loop
        insert into dotq.job_queue (
            job_id, job_kind, source_ref, target_ref, payload_ref, payload_json, priority, scheduled_at, max_attempts,
            idempotency_key, actor, run_id, created_at, updated_at, metadata, affinity_key, workflow_id, replay_of, key_retained
        )
        values (
            l_job_id, p_kind.job_kind, p_source_ref, p_target_ref, p_payload_ref, coalesce(p_payload_json, '{}'),
            coalesce(p_priority, p_kind.default_priority), greatest(p_scheduled_at, l_now),
            coalesce(p_max_attempts, p_kind.max_attempts, dotq.fn_config_integer('queue.retry.max_attempts_default')),
            coalesce(p_idempotency_key, l_job_id::text), p_actor, p_run_id, l_now, l_now,
            p_metadata, p_affinity_key, p_workflow_id, p_replay_of,
            p_kind.dedupe = 'retained' and p_idempotency_key is not null
        )
        on conflict do nothing;

        if found then
            return jsonb_build_object('ok', true, 'job_id', l_job_id, 'state', 'queued', 'duplicate', false);
        end if;

        select * into l_found from dotq.fn_job_by_key(p_kind.job_kind, p_idempotency_key);

        if found then
            return jsonb_build_object('ok', true, 'job_id', l_found.job_id, 'state', l_found.state, 'duplicate', true);
        end if;
    end loop;

    raise exception 'idempotency_key: % was taken and freed a hundred times while this call looked on', quote_literal(p_idempotency_key)
        using errcode = '40001';
end
$fn$;

comment on function dotq.fn_job_insert is
'Insert a job whose arguments were checked, or find the one that has its key: {ok, job_id, state, duplicate}.';
revoke all on function dotq.fn_job_insert from public;
