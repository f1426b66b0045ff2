-- The rows are chosen in a materialised CTE: a plain "in (select … limit n for update skip locked)" may be run again and
-- again by the planner and then takes more rows than n. Plans are generic and walk indexes only: the first plan of a
-- session is often made while the queue is empty, and one that does not know n would join or sort the whole table.
create or replace function dotq.fn_job_claim_many(
    p_worker_id     text,
    p_limit         integer,
    p_lease_seconds integer default null,
    p_allowed_kinds text[] default null,
    p_affinity_keys text[] default null
)
returns table (
    job_id uuid, job_kind text, attempts integer, max_attempts integer, payload_json jsonb, lease text, lease_until timestamptz,
    priority integer, scheduled_at timestamptz, created_at timestamptz, idempotency_key text, actor text,
    source_ref text, target_ref text, payload_ref text, run_id uuid, workflow_id uuid, replay_of uuid,
    affinity_key text, metadata jsonb, progress jsonb, checkpoint jsonb, crash_count integer, last_error text
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_sort = off
as $fn$
#variable_conflict use_column
declare
    l_now timestamptz;
    l_kinds text[];
    l_lease_default integer;
    l_lease_max integer;
begin
    perform dotq.fn_worker_id_assert(p_worker_id);
    perform dotq.fn_limit_assert(p_limit, 10000);
    perform dotq.fn_lease_seconds_assert(p_lease_seconds);
    perform dotq.fn_names_assert('allowed_kinds', p_allowed_kinds);
    perform dotq.fn_names_assert('affinity_keys', p_affinity_keys);

    if not (dotq.fn_config_boolean('queue.job_substrate.enabled') and dotq.fn_config_boolean('queue.claim.enabled')) then
        return;
    end if;

    l_kinds := dotq.fn_kind_claimable(p_allowed_kinds, dotq.fn_clock_now());
    perform dotq.fn_lease_expire(10, l_kinds);
    l_now := dotq.fn_clock_now();
    l_lease_default := dotq.fn_config_integer('queue.lease.duration_sec');
    l_lease_max := dotq.fn_config_integer('queue.lease.max_sec');

    return query
    with chosen as materialized (
        select q.job_id
        from dotq.job_queue as q
        where q.state in ('queued', 'retry_waiting')
          and q.scheduled_at <= l_now
          and q.job_kind = any (l_kinds)
          and (q.affinity_key is null or q.affinity_key = any (p_affinity_keys))
        order by q.priority, q.scheduled_at, q.job_id
        limit p_limit
        for update skip locked
    ),
    taken as (
        update dotq.job_queue as q
        set state = 'leased',
            attempts = q.attempts + 1,
            picked_at = l_now,
            lease_owner = p_worker_id,
            lease_token = nextval('dotq.lease_token_seq'),
            lease_seconds = least(coalesce(p_lease_seconds, k.lease_seconds, l_lease_default), l_lease_max),
            lease_until = l_now + make_interval(secs => least(coalesce(p_lease_seconds, k.lease_seconds, l_lease_default), l_lease_max)),
            updated_at = l_now
        from chosen, dotq.job_kind as k
        where q.job_id = chosen.job_id
          and k.job_kind = q.job_kind
        returning q.*
    )
    select t.job_id, t.job_kind::text, t.attempts::integer, t.max_attempts::integer, t.payload_json::jsonb,
        t.lease_owner || '#' || t.lease_token, t.lease_until, t.priority::integer, t.scheduled_at::timestamptz, t.created_at,
        t.idempotency_key, t.actor::text, t.source_ref, t.target_ref, t.payload_ref, t.run_id, t.workflow_id, t.replay_of,
        t.affinity_key, t.metadata::jsonb, t.progress::jsonb, t.checkpoint::jsonb, t.crash_count::integer, t.last_error
    from taken as t
    order by t.priority, t.scheduled_at, t.job_id;
end
$fn$;

comment on function dotq.fn_job_claim_many is
'Lease up to limit jobs that are due, most urgent first; never more, and none while a gate is closed. Expired leases are
of those kinds are taken back first. Commit a claim at once: until then nobody else sees the lease. Jobs with an affinity key go only to callers that name it. Each row carries its lease handle.
Raises 22023 (bad argument).';
revoke all on function dotq.fn_job_claim_many from public;
grant execute on function dotq.fn_job_claim_many to dotq_worker, dotq_operator;
