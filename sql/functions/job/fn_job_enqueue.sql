create or replace function dotq.fn_job_enqueue(
    p_job_kind        text,
    p_actor           text,
    p_idempotency_key text default null,
    p_payload_json    jsonb default '{}',
    p_source_ref      text default null,
    p_target_ref      text default null,
    p_payload_ref     text default null,
    p_priority        integer default null,
    p_scheduled_at    timestamptz default null,
    p_max_attempts    integer default null,
    p_run_id          uuid default null
)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_kind dotq.job_kind;
begin
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');
    perform dotq.fn_gate_assert('queue.enqueue.enabled');
    perform dotq.fn_job_arguments_assert(
        p_job_kind, p_actor, p_idempotency_key, p_source_ref, p_target_ref, p_payload_ref, p_priority, p_scheduled_at, p_max_attempts
    );
    l_kind := dotq.fn_kind_resolve(p_job_kind, p_actor);
    perform dotq.fn_payload_assert(l_kind, coalesce(p_payload_json, '{}'));

    return dotq.fn_job_insert(
        l_kind, p_actor, p_idempotency_key, p_payload_json, p_source_ref, p_target_ref, p_payload_ref,
        p_priority, p_scheduled_at, p_max_attempts, p_run_id
    );
end
$fn$;

comment on function dotq.fn_job_enqueue is
'Add a job in the caller''s transaction: {ok, job_id, state, duplicate}. With a key that an active job of the kind has,
that job is returned and duplicate is true. A priority is served lowest number first; a time in the past means now.
Raises 22023 (bad argument, denied payload key), JQ001 (gate closed), JQ005 (kind unknown), JQ006 (kind disabled), JQ007 (payload against schema).';
revoke all on function dotq.fn_job_enqueue from public;
grant execute on function dotq.fn_job_enqueue to dotq_producer, dotq_operator;
