create or replace function dotq.fn_job_arguments_assert(
    p_job_kind        text,
    p_actor           text,
    p_idempotency_key text,
    p_source_ref      text,
    p_target_ref      text,
    p_payload_ref     text,
    p_priority        integer,
    p_scheduled_at    timestamptz,
    p_max_attempts    integer
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dotq.fn_text_assert('job_kind', p_job_kind, 200);
    perform dotq.fn_text_assert('actor', p_actor, 200);
    perform dotq.fn_text_assert('idempotency_key', p_idempotency_key, 500, false);
    perform dotq.fn_text_assert('source_ref', p_source_ref, 2000, false);
    perform dotq.fn_text_assert('target_ref', p_target_ref, 2000, false);
    perform dotq.fn_text_assert('payload_ref', p_payload_ref, 2000, false);

    if octet_length(p_job_kind) + octet_length(p_idempotency_key) > 2000 then
        raise exception 'idempotency_key: is too long together with job_kind'
            using errcode = '22023', hint = 'Allowed: 2000 bytes for both.';
    elsif p_priority < 0 then
        raise exception 'priority: % is negative', p_priority
            using errcode = '22023', hint = 'Allowed: a whole number from 0; the lowest number is served first.';
    elsif not isfinite(p_scheduled_at) then
        raise exception 'scheduled_at: % is not a time', p_scheduled_at
            using errcode = '22023', hint = 'Allowed: a finite time; one in the past means now.';
    elsif p_scheduled_at >= timestamptz '10000-01-01 00:00:00+00' then
        raise exception 'scheduled_at: % is too far away', p_scheduled_at
            using errcode = '22023', hint = 'Allowed: a time before the year 10000, which is as far as most languages can read.';
    elsif p_max_attempts not between 1 and 1000 then
        raise exception 'max_attempts: % is out of range', p_max_attempts
            using errcode = '22023', hint = 'Allowed: 1 to 1000.';
    end if;
end
$fn$;

comment on function dotq.fn_job_arguments_assert is 'Refuse arguments that no job may have, whatever its kind. Raises 22023.';
revoke all on function dotq.fn_job_arguments_assert from public;
