create or replace function dotq.fn_job_move_to_dead_letter(p_job_id uuid, p_final_error text, p_moved_by text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_error text := dotq.fn_error_clean('final_error', p_final_error);
    l_job dotq.job_queue;
begin
    perform dotq.fn_text_assert('moved_by', p_moved_by, 200);
    l_job := dotq.fn_job_find(p_job_id);

    if l_job.finished_at is not null then
        raise exception 'job % is % already', p_job_id, l_job.state
            using errcode = 'JQ004', hint = 'Only a job that has not ended can be moved to the dead letters.';
    end if;

    return jsonb_build_object(
        'ok', true, 'job_id', p_job_id, 'state', 'dead_letter',
        'dead_letter_id', dotq.fn_job_bury(l_job, 'dead_letter', 'moved', l_error, p_moved_by)
    );
end
$fn$;

comment on function dotq.fn_job_move_to_dead_letter is
'Take a job that has not ended out of the queue, whoever holds it, and make it a dead letter: {ok, job_id, state, dead_letter_id}.
Raises 22023 (blank argument), JQ002 (no such job), JQ004 (the job has ended).';
revoke all on function dotq.fn_job_move_to_dead_letter from public;
grant execute on function dotq.fn_job_move_to_dead_letter to dotq_operator;
