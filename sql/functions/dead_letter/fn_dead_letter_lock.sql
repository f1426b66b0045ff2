create or replace function dotq.fn_dead_letter_lock(p_dead_letter_id uuid)
returns dotq.job_dead_letter
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_letter dotq.job_dead_letter;
begin
    if p_dead_letter_id is null then
        raise exception 'dead_letter_id: is required' using errcode = '22023';
    end if;

    select * into l_letter from dotq.job_dead_letter where dead_letter_id = p_dead_letter_id for update;

    if not found then
        raise exception 'dead letter % does not exist', p_dead_letter_id using errcode = 'JQ008';
    end if;

    return l_letter;
end
$fn$;

comment on function dotq.fn_dead_letter_lock is 'Lock a dead letter until the transaction ends. Raises 22023 (no id), JQ008 (no such dead letter).';
revoke all on function dotq.fn_dead_letter_lock from public;
