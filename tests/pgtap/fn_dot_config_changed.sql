begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_dot_config_changed'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_dot_config_changed'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_dot_config_changed'::regproc), 'v', 'it may answer differently each time');
select trigger_is('dotq', 'dot_config', 'tr_dot_config_changed', 'dotq', 'fn_dot_config_changed', 'the table of settings carries it');

create temp table mark as select coalesce(max(audit_id), 0) as audit_id from dotq.dot_config_audit;

-- What was audited since the last look.
create function pg_temp.audited()
returns setof text
language sql
as $fn$
with seen as (
    update mark set audit_id = (select max(audit_id) from dotq.dot_config_audit) returning audit_id
)
select concat_ws('|', key, coalesce(old_value, '-'), coalesce(new_value, '-'), case changed_by when session_user then 'login' else changed_by end)
from dotq.dot_config_audit, mark
where dotq.dot_config_audit.audit_id > mark.audit_id and exists (select from seen)
order by dotq.dot_config_audit.audit_id
$fn$;

insert into dotq.dot_config (key, value, updated_by) values ('house.rule', 'one', 'ann');
select results_eq('select pg_temp.audited()', $$values ('house.rule|-|one|ann')$$, 'a new row is audited under the name it gives');
update dotq.dot_config set value = 'two' where key = 'house.rule';
select results_eq('select pg_temp.audited()', $$values ('house.rule|one|two|login')$$, 'a value changed by hand is audited under the login');
update dotq.dot_config set value = 'three', updated_by = 'bob' where key = 'house.rule';
select results_eq('select pg_temp.audited()', $$values ('house.rule|two|three|bob')$$, 'who signs a change is named');
update dotq.dot_config set value = 'four', updated_by = 'bob', updated_at = updated_at + interval '1 second' where key = 'house.rule';
select results_eq('select pg_temp.audited()', $$values ('house.rule|three|four|bob')$$, 'who signs twice in a row is named twice');
update dotq.dot_config set value = 'four', description = 'words', updated_by = 'carol' where key = 'house.rule';
select is_empty('select pg_temp.audited()', 'an update that leaves the value as it was is not audited');
update dotq.dot_config set key = 'house.law' where key = 'house.rule';
select results_eq('select pg_temp.audited()', $$values ('house.law|four|four|login')$$, 'a renamed setting is audited');
delete from dotq.dot_config where key = 'house.law';
select results_eq('select pg_temp.audited()', $$values ('house.law|four|-|login')$$, 'a deleted setting is audited under the login');
select is(
    (select array_agg(distinct login) from dotq.dot_config_audit, mark where key in ('house.rule', 'house.law')),
    array[session_user::text],
    'whoever signs, the login is kept too'
);

insert into dotq.job_queue (job_kind, actor, idempotency_key, state, scheduled_at, lease_owner, lease_until, lease_token, lease_seconds, updated_at)
values
    ('k', 'a', 'lapsed', 'leased', '2030-01-01', 'w', '2030-01-01 11:00:00+00', 1, 300, '2030-01-01'),
    ('k', 'a', 'working', 'in_progress', '2030-01-01', 'w', '2030-01-01 12:00:01+00', 2, 60, '2030-01-01'),
    ('k', 'a', 'long', 'leased', '2030-01-01', 'w', '2030-01-01 18:00:00+00', 3, 300, '2030-01-01'),
    ('k', 'a', 'waiting', 'queued', '2030-01-01', null, null, null, 300, '2030-01-01');

create function pg_temp.leases()
returns text[]
language sql
as $fn$
select array_agg(idempotency_key || ' ' || coalesce(to_char(lease_until, 'HH24:MI:SS'), '-') order by idempotency_key)
from dotq.job_queue
where job_kind = 'k'
$fn$;

update dotq.dot_config set value = 'true' where key = 'queue.worker.enabled';
select is(
    pg_temp.leases(), array['lapsed 11:00:00', 'long 18:00:00', 'waiting -', 'working 12:00:01'], 'another gate renews no lease'
);
update dotq.dot_config set value = 'maybe' where key = 'queue.job_substrate.enabled';
select is(
    pg_temp.leases(), array['lapsed 11:00:00', 'long 18:00:00', 'waiting -', 'working 12:00:01'], 'a master gate that stays closed renews no lease'
);
update dotq.dot_config set value = 'on' where key = 'queue.job_substrate.enabled';
select is(
    pg_temp.leases(),
    array['lapsed 12:05:00', 'long 18:00:00', 'waiting -', 'working 12:01:00'],
    'when the master gate opens, by hand too, each lease gets its own full length again and none is shortened'
);
select is(
    (select array_agg(idempotency_key order by idempotency_key) from dotq.job_queue where job_kind = 'k' and updated_at = dotq.fn_clock_now()),
    array['lapsed', 'long', 'working'],
    'a renewed job says when, and a waiting one is not touched'
);
set local test.clock = '2030-01-01 15:00:00+00';
update dotq.dot_config set value = 'false' where key = 'queue.job_substrate.enabled';
select is(
    pg_temp.leases(), array['lapsed 12:05:00', 'long 18:00:00', 'waiting -', 'working 12:01:00'], 'closing the master gate renews no lease'
);
delete from dotq.dot_config where key = 'queue.job_substrate.enabled';
insert into dotq.dot_config (key, value) values ('queue.job_substrate.enabled', 'true');
select is(
    pg_temp.leases(),
    array['lapsed 15:05:00', 'long 18:00:00', 'waiting -', 'working 15:01:00'],
    'a master gate put back open renews the leases as well'
);

select * from finish();
rollback;
