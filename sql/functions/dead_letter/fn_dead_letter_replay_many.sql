create or replace function dotq.fn_dead_letter_replay_many(
    p_filter  jsonb,
    p_actor   text,
    p_limit   integer default 100,
    p_dry_run boolean default true
)
returns table (dead_letter_id uuid, job_kind text, final_error text, outcome text, job_id uuid)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
#variable_conflict use_column
declare
    l_letter dotq.job_dead_letter;
    l_answer jsonb;
    l_key text;
    l_keys text[] := array[]::text[];
begin
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_limit_assert(p_limit, 10000);
    perform dotq.fn_dead_letter_filter_assert(p_filter);
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');
    perform dotq.fn_gate_assert('queue.enqueue.enabled');

    for l_letter in
        select d.*
        from dotq.job_dead_letter as d
        where d.triage_status in ('pending', 'acknowledged', 'escalated')
          and (p_filter ->> 'kind' is null or d.job_kind = p_filter ->> 'kind')
          and (p_filter ->> 'fingerprint' is null or d.error_fingerprint = p_filter ->> 'fingerprint')
          and (p_filter ->> 'cause' is null or d.cause = p_filter ->> 'cause')
          and (p_filter ->> 'status' is null or d.triage_status = p_filter ->> 'status')
        order by d.moved_at, d.dead_letter_id
        limit p_limit
        for update skip locked
    loop
        l_answer := case when coalesce(p_dry_run, true) then dotq.fn_dead_letter_preview(l_letter) else dotq.fn_dead_letter_revive(l_letter, p_actor) end;
        dead_letter_id := l_letter.dead_letter_id;
        job_kind := l_letter.job_kind;
        final_error := l_letter.final_error;
        outcome := l_answer ->> 'outcome';
        job_id := (l_answer ->> 'job_id')::uuid;

        -- Of two dead letters with one key, the first one's job takes it from the second.
        if outcome = 'would_replay' and l_letter.idempotency_key <> l_letter.job_id::text then
            l_key := jsonb_build_array(l_letter.job_kind, l_letter.idempotency_key)::text;
            outcome := case when l_key = any (l_keys) then 'key_taken' else outcome end;
            l_keys := l_keys || l_key;
        end if;

        return next;
    end loop;
end
$fn$;

comment on function dotq.fn_dead_letter_replay_many is
'Replay open dead letters, oldest first, chosen by a filter {kind, fingerprint, cause, status}; one row for each, and one that
cannot be replayed does not stop the others. A dry run, which is the default, shows exactly the rows that would be taken and changes nothing.
Outcome: would_replay, replayed, key_taken (job_id is the job that has the key; null when a row above would become it), kind_disabled.
Raises 22023 (bad filter or argument), JQ001 (gate closed).';
revoke all on function dotq.fn_dead_letter_replay_many from public;
grant execute on function dotq.fn_dead_letter_replay_many to dotq_operator;
