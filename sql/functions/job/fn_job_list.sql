create or replace function dotq.fn_job_list(
    p_states text[] default null,
    p_kind   text default null,
    p_key    text default null,
    p_limit  integer default 50,
    p_after  uuid default null
)
returns table (
    job_id uuid, job_kind text, state text, priority integer, attempts integer, max_attempts integer, created_at timestamptz,
    scheduled_at timestamptz, lease_owner text, lease_until timestamptz, finished_at timestamptz, idempotency_key text,
    actor text, last_error text
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
#variable_conflict use_column
declare
    l_unknown text;
begin
    perform dotq.fn_limit_assert(p_limit, 1000);
    perform dotq.fn_names_assert('states', p_states);
    select named into l_unknown
    from unnest(p_states) as named
    where named <> all (array['queued', 'leased', 'in_progress', 'succeeded', 'failed', 'retry_waiting', 'dead_letter', 'cancelled', 'cleaned'])
    limit 1;

    if found then
        raise exception 'states: % is not a state', quote_literal(l_unknown)
            using errcode = '22023', hint = 'Allowed: queued, leased, in_progress, succeeded, failed, retry_waiting, dead_letter, cancelled, cleaned.';
    end if;

    return query
    select q.job_id, q.job_kind::text, q.state::text, q.priority::integer, q.attempts::integer, q.max_attempts::integer, q.created_at,
        q.scheduled_at::timestamptz, q.lease_owner, q.lease_until, q.finished_at, q.idempotency_key, q.actor::text, q.last_error
    from dotq.job_queue as q
    where (p_states is null or q.state = any (p_states))
      and (p_kind is null or q.job_kind = p_kind)
      and (p_key is null or q.idempotency_key = p_key)
      and (p_after is null or q.job_id < p_after)
    order by q.job_id desc
    limit p_limit;
end
$fn$;

comment on function dotq.fn_job_list is
'Jobs, newest first, filtered by state, kind and key; the next page comes after the last job_id of this one. Raises 22023 (bad argument).';
revoke all on function dotq.fn_job_list from public;
grant execute on function dotq.fn_job_list to dotq_operator;
