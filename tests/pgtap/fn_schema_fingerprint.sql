begin;
select plan(44);

-- With dotq out of the path, types are printed the way the function prints them.
set local search_path = tap, public;

-- Changes since the beginning: + came, - went, ~ differs.
create temp table before as select dotq.fn_schema_fingerprint() as objects;
create function pg_temp.change()
returns text
language sql
as $fn$
select string_agg(
    case when b.value is null then '+ ' when n.value is null then '- ' else '~ ' end || key, ', ' order by key
)
from jsonb_each_text((select objects from before)) as b
full join jsonb_each_text(dotq.fn_schema_fingerprint()) as n using (key)
where b.value is distinct from n.value
$fn$;
savepoint untouched;

-- What it looks at.
select is(pg_temp.change(), null, 'asked twice, it says the same');
select is(
    dotq.fn_schema_fingerprint(), (select objects from dotq.schema_release), 'what the installation made is what the release has recorded'
);
select is_empty(
    $$ select key, value from jsonb_each_text(dotq.fn_schema_fingerprint()) where value !~ '^[0-9a-f]{64}$' $$, 'each object has a SHA-256'
);
select results_eq(
    $$ select split_part(key, ' ', 1) as kind from jsonb_object_keys(dotq.fn_schema_fingerprint()) as key group by 1 order by 1 $$,
    array['constraint', 'domain', 'function', 'index', 'sequence', 'table', 'trigger', 'view'],
    'it covers functions, views, tables, constraints, indexes, triggers, sequences and domains'
);
select is_empty(
    $$ select p.oid::regprocedure from pg_proc as p
       where p.pronamespace = 'dotq'::regnamespace and p.proname <> 'fn_schema_fingerprint'
         and not dotq.fn_schema_fingerprint() ? format('function %s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) $$,
    'no function is left out, except itself'
);
select is_empty(
    $$ select c.oid::regclass from pg_class as c
       where c.relnamespace = 'dotq'::regnamespace and c.relkind in ('r', 'v', 'S') and c.relname not in ('schema_migration', 'schema_release')
         and not dotq.fn_schema_fingerprint() ? ((case c.relkind when 'r' then 'table ' when 'v' then 'view ' else 'sequence ' end) || c.relname) $$,
    'no table, view or sequence is left out, except the ledger'
);
select is_empty(
    $$ select key from jsonb_object_keys(dotq.fn_schema_fingerprint()) as key where key ~ 'schema_(migration|release|fingerprint)' $$,
    'the ledger and the function itself are not in it'
);

-- Each kind of change.
create or replace function dotq.fn_clock_now() returns timestamptz language sql volatile set search_path = pg_catalog, pg_temp as 'select now()';
select is(pg_temp.change(), '~ function fn_clock_now()', 'another body is noticed');
rollback to savepoint untouched;
alter function dotq.fn_clock_now() stable;
select is(pg_temp.change(), '~ function fn_clock_now()', 'another volatility is noticed');
rollback to savepoint untouched;
alter function dotq.fn_clock_now() security definer;
select is(pg_temp.change(), '~ function fn_clock_now()', 'other rights are noticed');
rollback to savepoint untouched;
alter function dotq.fn_clock_now() reset search_path;
select is(pg_temp.change(), '~ function fn_clock_now()', 'a search path that is gone is noticed');
rollback to savepoint untouched;
alter function dotq.fn_clock_now() parallel safe;
select is(pg_temp.change(), '~ function fn_clock_now()', 'another parallel mark is noticed');
rollback to savepoint untouched;
alter function dotq.fn_limit_assert(integer, integer) strict;
select is(pg_temp.change(), '~ function fn_limit_assert(p_limit integer, p_max integer)', 'another answer to nulls is noticed');
rollback to savepoint untouched;
alter function dotq.fn_clock_now() cost 7;
select is(pg_temp.change(), '~ function fn_clock_now()', 'another cost is noticed');
rollback to savepoint untouched;
alter function dotq.fn_queue_fsck() rows 7;
select is(pg_temp.change(), '~ function fn_queue_fsck()', 'another number of rows is noticed');
rollback to savepoint untouched;
create or replace function dotq.fn_limit_assert(p_limit integer, p_max integer default 5)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
begin
    null;
end
$fn$;
select is(pg_temp.change(), '~ function fn_limit_assert(p_limit integer, p_max integer)', 'another default is noticed');
rollback to savepoint untouched;
create function dotq.fn_extra(integer) returns integer language sql as 'select 1';
alter function dotq.fn_extra(integer) owner to dotq_owner;
select is(pg_temp.change(), '+ function fn_extra(integer)', 'a new function is noticed');
rollback to savepoint untouched;
drop function dotq.fn_dead_letter_filter_assert(jsonb);
select is(pg_temp.change(), '- function fn_dead_letter_filter_assert(p_filter jsonb)', 'a function that is gone is noticed');
rollback to savepoint untouched;
create or replace view dotq.v_config_audit as
select audit_id, changed_at, key, old_value, new_value, changed_by, login from dotq.dot_config_audit;
select is(pg_temp.change(), '~ view v_config_audit', 'another query of a view is noticed');
rollback to savepoint untouched;
alter view dotq.v_config_audit set (security_barrier = true);
select is(pg_temp.change(), '~ view v_config_audit', 'another option of a view is noticed');
rollback to savepoint untouched;
alter table dotq.queue_leader add column extra integer;
select is(pg_temp.change(), '~ table queue_leader', 'a new column is noticed');
rollback to savepoint untouched;
alter table dotq.queue_leader drop column acquired_at;
select is(pg_temp.change(), '~ table queue_leader', 'a column that is gone is noticed');
rollback to savepoint untouched;
alter table dotq.queue_leader alter column acquired_at drop not null;
select is(pg_temp.change(), '~ table queue_leader', 'a column that may be null is noticed');
rollback to savepoint untouched;
alter table dotq.queue_leader alter column acquired_at set default now();
select is(pg_temp.change(), '~ table queue_leader', 'another default of a column is noticed');
rollback to savepoint untouched;
alter table dotq.queue_leader alter column term type integer;
select is(pg_temp.change(), '~ table queue_leader', 'another type of a column is noticed');
rollback to savepoint untouched;
alter table dotq.dot_config_audit alter column audit_id set generated by default;
select is(pg_temp.change(), '~ table dot_config_audit', 'another identity of a column is noticed');
rollback to savepoint untouched;
create table dotq.extra (n integer);
alter table dotq.extra owner to dotq_owner;
select is(pg_temp.change(), '+ table extra', 'a new table is noticed');
rollback to savepoint untouched;
create table dotq.extra (n integer) partition by list (n);
create table dotq.extra_1 partition of dotq.extra for values in (1);
alter table dotq.extra owner to dotq_owner;
alter table dotq.extra_1 owner to dotq_owner;
select is(pg_temp.change(), '+ table extra', 'a new partitioned table is noticed, its partitions are not');
rollback to savepoint untouched;
alter table dotq.queue_worker drop constraint queue_worker_pool_size_check;
select is(pg_temp.change(), '- constraint queue_worker.queue_worker_pool_size_check', 'a constraint that is gone is noticed');
rollback to savepoint untouched;
alter table dotq.queue_worker add constraint queue_worker_extra check (pool_size > 0) not valid;
select is(pg_temp.change(), '+ constraint queue_worker.queue_worker_extra', 'a new constraint is noticed');
create temp table unproven as select dotq.fn_schema_fingerprint() ->> 'constraint queue_worker.queue_worker_extra' as print;
alter table dotq.queue_worker validate constraint queue_worker_extra;
select isnt(
    dotq.fn_schema_fingerprint() ->> 'constraint queue_worker.queue_worker_extra', (select print from unproven),
    'a constraint that was not proven on the rows there are is told apart'
);
rollback to savepoint untouched;
alter table dotq.queue_leader add constraint queue_leader_extra foreign key (worker_id) references dotq.queue_worker (worker_id);
select is(pg_temp.change(), '+ constraint queue_leader.queue_leader_extra', 'a new foreign key is noticed once, without the triggers behind it');
rollback to savepoint untouched;
alter domain dotq.job_priority drop constraint job_queue_priority_check;
select is(pg_temp.change(), '- constraint job_priority.job_queue_priority_check', 'a check of a domain that is gone is noticed');
rollback to savepoint untouched;
alter domain dotq.job_priority set default 5;
select is(pg_temp.change(), '~ domain job_priority', 'another default of a domain is noticed');
rollback to savepoint untouched;
drop index dotq.job_queue_state_scheduled_idx;
select is(pg_temp.change(), '- index job_queue_state_scheduled_idx', 'an index that is gone is noticed');
rollback to savepoint untouched;
drop index dotq.queue_worker_heartbeat_idx;
create index queue_worker_heartbeat_idx on dotq.queue_worker (last_heartbeat_at desc);
select is(pg_temp.change(), '~ index queue_worker_heartbeat_idx', 'another index under the same name is noticed');
rollback to savepoint untouched;
update pg_index set indisvalid = false where indexrelid = 'dotq.queue_worker_heartbeat_idx'::regclass;
select is(pg_temp.change(), '~ index queue_worker_heartbeat_idx', 'an index that is not valid is noticed');
rollback to savepoint untouched;
alter table dotq.dot_config disable trigger tr_dot_config_changed;
select is(pg_temp.change(), '~ trigger dot_config.tr_dot_config_changed', 'a trigger that is switched off is noticed');
rollback to savepoint untouched;
drop trigger tr_dot_config_changed on dotq.dot_config;
select is(pg_temp.change(), '- trigger dot_config.tr_dot_config_changed', 'a trigger that is gone is noticed');
rollback to savepoint untouched;
alter sequence dotq.lease_token_seq cycle;
select is(pg_temp.change(), '~ sequence lease_token_seq', 'a sequence that begins again is noticed');
rollback to savepoint untouched;

-- What is the administrator's, or somebody else's.
grant select on dotq.v_config_audit to dotq_reader;
alter table dotq.job_queue set (fillfactor = 70);
comment on table dotq.job_queue is 'Ours.';
alter table dotq.schema_migration add column extra integer;
select is(pg_temp.change(), null, 'rights, storage settings, comments and the ledger are left out');
rollback to savepoint untouched;
create function dotq.fn_stranger() returns integer language sql as 'select 1';
create table dotq.stranger (n integer primary key);
create domain dotq.strange as text check (value <> '');
create view dotq.v_stranger as select 1 as n;
select is(pg_temp.change(), null, 'what another owner keeps in the schema is left out');

-- Who may call it.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_schema_fingerprint'::regproc, 'execute') $$,
    'nobody may call it but the owner'
);
select isnt_definer('dotq', 'fn_schema_fingerprint', 'it runs with the rights of its caller');

select * from finish();
rollback;
