create or replace function dotq.fn_dead_letter_replay(p_dead_letter_id uuid, p_actor text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_letter dotq.job_dead_letter;
    l_answer jsonb;
begin
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_gate_assert('queue.job_substrate.enabled');
    perform dotq.fn_gate_assert('queue.enqueue.enabled');
    l_letter := dotq.fn_dead_letter_lock(p_dead_letter_id);
    l_answer := dotq.fn_dead_letter_revive(l_letter, p_actor);

    if l_answer ->> 'outcome' = 'key_taken' then
        raise exception 'dead letter %: another job has its key: %', p_dead_letter_id, l_answer ->> 'job_id'
            using errcode = 'JQ009', hint = 'Let that job end, or cancel it, and replay again; a finished job of a kind that retains keys holds its key while it is kept.';
    elsif l_answer ->> 'outcome' = 'kind_disabled' then
        raise exception 'kind: % is disabled', quote_literal(l_letter.job_kind) using errcode = 'JQ006';
    elsif not (l_answer ->> 'ok')::boolean then
        raise exception 'dead letter % is % already', p_dead_letter_id, case l_answer ->> 'outcome' when 'closed' then 'closed' else 'replayed' end
            using errcode = 'JQ010',
                  hint = format('To replay it again, first: select dotq.fn_dead_letter_triage(%L, ''acknowledged'', <actor>);', p_dead_letter_id);
    end if;

    return jsonb_build_object('ok', true, 'dead_letter_id', p_dead_letter_id, 'job_id', l_answer -> 'job_id', 'replay_of', l_letter.job_id);
end
$fn$;

comment on function dotq.fn_dead_letter_replay is
'Enqueue a new job from a dead letter, which keeps its history and points to it: {ok, dead_letter_id, job_id, replay_of}.
Raises 22023 (bad argument), JQ001 (gate closed), JQ006 (kind disabled), JQ008 (no such dead letter), JQ009 (another job has the key),
JQ010 (closed, or replayed already).';
revoke all on function dotq.fn_dead_letter_replay from public;
grant execute on function dotq.fn_dead_letter_replay to dotq_operator;
