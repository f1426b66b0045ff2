-- A trigger and not part of fn_config_set: whoever edits the table by hand is audited too, and cannot re-open the master
-- gate onto leases that ran out while nobody was able to renew or finish them.
-- A job that its worker has locked is left to that worker: the operator's switch must wait for nobody.
-- session_user is a name, of 63 characters; as text it does not cut whoever signed.
create or replace function dotq.fn_dot_config_changed()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if tg_op = 'UPDATE' and new.value is not distinct from old.value and new.key = old.key then
        return null;
    end if;

    insert into dotq.dot_config_audit (key, old_value, new_value, changed_by)
    values (
        coalesce(new.key, old.key),
        old.value,
        new.value,
        case when tg_op <> 'DELETE' and new.updated_by is distinct from old.updated_by
            or tg_op <> 'DELETE' and new.updated_at is distinct from old.updated_at
            then new.updated_by else session_user::text
        end
    );

    if coalesce(new.key, old.key) = 'queue.job_substrate.enabled' and dotq.fn_config_boolean('queue.job_substrate.enabled') then
        with held as materialized (
            select job_id from dotq.job_queue where state in ('leased', 'in_progress') for update skip locked
        )
        update dotq.job_queue as q
        set lease_until = greatest(q.lease_until, dotq.fn_clock_now() + make_interval(secs => q.lease_seconds)),
            updated_at = dotq.fn_clock_now()
        from held
        where q.job_id = held.job_id;
    end if;

    return null;
end
$fn$;

comment on function dotq.fn_dot_config_changed is
'Trigger: writes the audit row of a changed setting, and renews all leases when the master gate opens.';
revoke all on function dotq.fn_dot_config_changed from public;

do $do$
begin
    if not exists (
        select from pg_catalog.pg_trigger
        where tgrelid = 'dotq.dot_config'::regclass and tgname = 'tr_dot_config_changed'
    ) then
        create trigger tr_dot_config_changed
            after insert or update or delete on dotq.dot_config
            for each row execute function dotq.fn_dot_config_changed();
    end if;
end
$do$;
