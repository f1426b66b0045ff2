-- The functions of the queue write updated_at themselves, which is cheaper than a trigger; the triggers fire only for an
-- update that forgot it, such as one made by hand.
create or replace function dotq.fn_job_queue_updated_at()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
begin
    new.updated_at := dotq.fn_clock_now();
    return new;
end
$fn$;

comment on function dotq.fn_job_queue_updated_at is 'Trigger: refreshes updated_at of a row whose update left it as it was.';
revoke all on function dotq.fn_job_queue_updated_at from public;

do $do$
begin
    if not exists (
        select from pg_catalog.pg_trigger
        where tgrelid = 'dotq.job_queue'::regclass and tgname = 'tr_job_queue_updated_at'
    ) then
        create trigger tr_job_queue_updated_at
            before update on dotq.job_queue
            for each row when (new.updated_at is not distinct from old.updated_at)
            execute function dotq.fn_job_queue_updated_at();
    end if;

    if not exists (
        select from pg_catalog.pg_trigger
        where tgrelid = 'dotq.queue_heartbeat'::regclass and tgname = 'tr_queue_heartbeat_updated_at'
    ) then
        create trigger tr_queue_heartbeat_updated_at
            before update on dotq.queue_heartbeat
            for each row when (new.updated_at is not distinct from old.updated_at)
            execute function dotq.fn_job_queue_updated_at();
    end if;
end
$do$;
