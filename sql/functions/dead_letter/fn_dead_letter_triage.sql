create or replace function dotq.fn_dead_letter_triage(p_dead_letter_id uuid, p_status text, p_actor text, p_note text default null)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_letter dotq.job_dead_letter;
    l_note text := case when p_note is not null then dotq.fn_error_clean('note', p_note) end;
begin
    perform dotq.fn_text_assert('actor', p_actor, 200);

    if p_status is null or p_status not in ('pending', 'acknowledged', 'manual_replay', 'escalated', 'closed') then
        raise exception 'status: % is not a triage status', coalesce(quote_literal(dotq.fn_text_line(p_status)), 'null')
            using errcode = '22023', hint = 'Allowed: pending, acknowledged, manual_replay, escalated, closed.';
    end if;

    l_letter := dotq.fn_dead_letter_lock(p_dead_letter_id);

    update dotq.job_dead_letter
    set triage_status = p_status,
        triage_note = coalesce(l_note, triage_note),
        triaged_at = dotq.fn_clock_now(),
        triaged_by = p_actor
    where dead_letter_id = p_dead_letter_id;

    return jsonb_build_object(
        'ok', true, 'dead_letter_id', p_dead_letter_id, 'job_id', l_letter.job_id, 'old_status', l_letter.triage_status, 'status', p_status
    );
end
$fn$;

comment on function dotq.fn_dead_letter_triage is
'Record what was decided about a dead letter, by whom and why: {ok, dead_letter_id, job_id, old_status, status}. Without a note the
old one stays. To have the job run again, call fn_dead_letter_replay. Raises 22023 (bad argument), JQ008 (no such dead letter).';
revoke all on function dotq.fn_dead_letter_triage from public;
grant execute on function dotq.fn_dead_letter_triage to dotq_operator;
