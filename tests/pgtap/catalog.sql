-- The laws that every object obeys. Each is a query that lists the offenders.
begin;
select plan(56);

create temp view own_function as
select p.*, p.oid::regprocedure as signature, p.proname::text as name
from pg_proc as p
where p.pronamespace = 'dotq'::regnamespace;
create temp view own_relation as
select c.*, c.relname::text as name
from pg_class as c
where c.relnamespace = 'dotq'::regnamespace and not c.relispartition;
create temp view runtime as
select role from unnest(array['dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role;
create temp view raised as
select distinct f.name, code[1] as code
from own_function as f
cross join lateral regexp_matches(f.prosrc, 'errcode\s*=\s*''([^'']*)''', 'gi') as code;

-- The laws would hold of nothing as well.
select cmp_ok((select count(*) from own_function), '>', 50::bigint, 'there are functions to look at');
select cmp_ok((select count(*) from own_relation where relkind in ('r', 'p')), '>', 5::bigint, 'there are tables to look at');
select cmp_ok((select count(*) from own_relation where relkind = 'v'), '>', 10::bigint, 'there are views to look at');
select cmp_ok((select count(distinct code) from raised), '>', 8::bigint, 'there are refusals to look at');

-- Functions.
select is_empty(
    $$ select signature from own_function
       where array(select setting from unnest(proconfig) as setting where setting ~ '^search_path=') is distinct from array['search_path=pg_catalog, pg_temp'] $$,
    'every function pins its search path to pg_catalog, and looks at temporary objects last'
);
select is_empty(
    $$ select signature from own_function where proacl is null
       union all
       select signature from own_function, aclexplode(proacl) as acl where acl.grantee = 0 $$,
    'no function is open to PUBLIC'
);
select is_empty(
    $$ select signature, acl.grantee::regrole from own_function, aclexplode(proacl) as acl
       where acl.grantee <> proowner and acl.grantee::regrole::text not in (select role from runtime) or acl.is_grantable and acl.grantee <> proowner $$,
    'functions are granted to the four runtime roles only, who cannot pass them on'
);
select is_empty(
    $$ select signature from own_function as f
       where f.prosecdef and not exists (select from runtime where has_function_privilege(role, f.oid, 'execute')) $$,
    'a function that runs with the rights of the owner is one that a runtime role may call; a helper runs with the rights of its caller'
);
select is_empty($$ select signature, proowner::regrole from own_function where proowner <> 'dotq_owner'::regrole $$, 'every function belongs to dotq_owner');
select is_empty($$ select signature from own_function where prosrc ~* '\mexecute\M' $$, 'no function puts SQL together while it runs');
select is_empty(
    $$ select signature, l.lanname from own_function join pg_language as l on l.oid = prolang where l.lanname not in ('sql', 'plpgsql') $$,
    'functions are written in SQL and PL/pgSQL'
);
select is_empty($$ select name from own_function group by name having count(*) > 1 $$, 'a name means one function: there are no overloads');
select is_empty($$ select signature from own_function where name !~ '^fn_[a-z0-9]+(_[a-z0-9]+)*$' $$, 'functions are called fn_ and something');
select is_empty(
    $$ select signature, parameter
       from own_function
       cross join lateral unnest(coalesce(proargnames, array_fill(''::text, array[pronargs::integer])), proargmodes) as argument (parameter, mode)
       where coalesce(mode, 'i') in ('i', 'b', 'v') and parameter !~ '^p_[a-z0-9_]+$' $$,
    'what a function takes is called p_ and something'
);
select is_empty($$ select signature from own_function where btrim(coalesce(obj_description(oid, 'pg_proc'), '')) = '' $$, 'every function says what it is for');
select is_empty(
    $$ select signature from own_function where prosrc ~* '\mclock_timestamp\M' and name not in ('fn_clock_now', 'fn_uuid_v7') $$,
    'the clock is read in one place, besides that of new ids'
);
select is_empty(
    $$ select signature from own_function where prosrc ~* '\m(now|transaction_timestamp|statement_timestamp)\(\)|\mcurrent_timestamp\M' $$,
    'no function decides by the time its transaction began'
);

-- Refusals.
select is_empty(
    $$ select name, code from raised where code ~ '^JQ' and (code !~ '^JQ[0-9]{3}$' or code ~ '000$') $$, 'the codes of dotq are JQ and three digits, never 000'
);
select is_empty(
    $$ select name, code from raised where code not in (select e.code from dotq.v_error_code as e) and code <> '40001' $$,
    'every code that is raised is listed in v_error_code, except the one by which PostgreSQL itself asks to run a transaction again'
);
select is_empty(
    $$ select e.code from dotq.v_error_code as e
       where e.code not in (select code from raised) and e.code not in ('JQ012', 'JQ013', 'JQ014') $$,
    'every code that is listed is raised by a function, or by the installation (JQ012 to JQ014)'
);
select is_empty($$ select code from dotq.v_error_code where code !~ '^(JQ[0-9]{3}|22023)$' or code ~ '000$' $$, 'no other class of code is listed');
select is_empty($$ select code from dotq.v_error_code group by code having count(*) > 1 $$, 'a code is listed once');
select is_empty($$ select name from dotq.v_error_code group by name having count(*) > 1 $$, 'a code has a name of its own');
select is_empty(
    $$ select f.signature, mentioned[1] from own_function as f
       cross join lateral regexp_matches(obj_description(f.oid, 'pg_proc'), '\m(JQ[0-9]{3})\M', 'g') as mentioned
       where mentioned[1] not in (select e.code from dotq.v_error_code as e) $$,
    'a comment names no code that does not exist'
);
select is_empty(
    $$ select r.name, r.code from raised as r
       join own_function as f on f.name = r.name
       where r.code <> '40001' and strpos(obj_description(f.oid, 'pg_proc'), r.code) = 0 $$,
    'what a function raises itself, its comment says'
);
select is_empty(
    $$ select signature from own_function
       where (select count(*) from regexp_matches(prosrc, '\mraise\s+exception\M', 'gi'))
           <> (select count(*) from regexp_matches(prosrc, '\merrcode\s*=\s*''\w{5}''', 'gi')) $$,
    'every refusal has a code'
);

-- Roles.
select is_empty(
    $$ select rolname from pg_roles where rolname = 'dotq_owner' and (rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication) $$,
    'dotq_owner cannot log in and has no power beyond what it owns'
);
select is_empty(
    $$ select rolname from pg_roles where rolname in (select role from runtime) and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication) $$,
    'the runtime roles have no power of their own'
);
select is(
    (select count(*) from pg_roles where rolname in ('dotq_owner', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader')), 5::bigint, 'all five roles exist'
);
select is_empty(
    $$ select m.member::regrole from pg_auth_members as m
       where m.roleid = 'dotq_owner'::regrole
         and m.member::regrole::text not in (select quote_ident(applied_by) from dotq.schema_migration union select quote_ident(applied_by) from dotq.schema_release) $$,
    'nobody but whoever installed it is a member of dotq_owner'
);
select is_empty(
    $$ select m.roleid::regrole from pg_auth_members as m
       where m.member in (select role::regrole from runtime union all select 'dotq_owner'::regrole) $$,
    'no role of dotq is a member of another role'
);
select is_empty(
    $$ select role from runtime where not has_schema_privilege(role, 'dotq', 'usage') or has_schema_privilege(role, 'dotq', 'create')
       union all
       select 'public' where has_schema_privilege('public', 'dotq', 'usage') or has_schema_privilege('public', 'dotq', 'create') $$,
    'the runtime roles may look into the schema and put nothing there; others may not even look'
);

-- Tables and sequences.
select is_empty($$ select name, relowner::regrole from own_relation where relowner <> 'dotq_owner'::regrole $$, 'every relation belongs to dotq_owner');
select is_empty(
    $$ select c.name, r.role, p.privilege
       from own_relation as c
       cross join (select role from runtime union all select 'public') as r
       cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p (privilege)
       where c.relkind in ('r', 'p') and (
           has_table_privilege(r.role, c.oid, p.privilege)
           or p.privilege in ('select', 'insert', 'update', 'references') and has_any_column_privilege(r.role, c.oid, p.privilege)
       ) $$,
    'no runtime role has any right on any table or column'
);
select is_empty(
    $$ select c.name, r.role, p.privilege
       from own_relation as c
       cross join (select role from runtime union all select 'public') as r
       cross join unnest(array['usage', 'select', 'update']) as p (privilege)
       where c.relkind = 'S' and has_sequence_privilege(r.role, c.oid, p.privilege) $$,
    'no runtime role has any right on any sequence'
);
select is_empty(
    $$ select c.name, con.conname from pg_constraint as con join own_relation as c on c.oid = con.conrelid
       where con.contype = 'f' and c.name in ('job_queue', 'job_dead_letter', 'queue_heartbeat')
       union all
       select c.name, con.conname from pg_constraint as con join own_relation as c on c.oid = con.confrelid
       where con.contype = 'f' and c.name in ('job_queue', 'job_dead_letter', 'queue_heartbeat') $$,
    'no foreign key starts from or leads to the hot tables'
);
select is_empty(
    $$ select c.name from own_relation as c where c.relkind in ('r', 'p') and not exists (select from pg_index as i where i.indrelid = c.oid and i.indisprimary) $$,
    'every table has a primary key'
);
select is_empty($$ select i.indexrelid::regclass from pg_index as i join own_relation as c on c.oid = i.indrelid where not i.indisvalid $$, 'every index is valid');
select is_empty(
    $$ select name from own_relation where relkind in ('r', 'p', 'v') and btrim(coalesce(obj_description(oid, 'pg_class'), '')) = '' $$,
    'every table and view says what it is for'
);
select is_empty(
    $$ select c.name from own_relation as c
       where c.relkind = 'S' and btrim(coalesce(obj_description(c.oid, 'pg_class'), '')) = ''
         and not exists (select from pg_depend as d where d.objid = c.oid and d.deptype = 'i') $$,
    'every sequence that is not a column''s own says what it is for'
);
select is_empty(
    $$ select t.typname from pg_type as t
       where t.typnamespace = 'dotq'::regnamespace and t.typtype = 'd'
         and (btrim(coalesce(obj_description(t.oid, 'pg_type'), '')) = '' or t.typowner <> 'dotq_owner'::regrole) $$,
    'every domain belongs to dotq_owner and says what it is for'
);
select is_empty(
    $$ select c.name, t.tgname from pg_trigger as t join own_relation as c on c.oid = t.tgrelid
       where not t.tgisinternal and (not starts_with(t.tgname, 'tr_' || c.name || '_') or t.tgenabled <> 'O') $$,
    'triggers are called tr_, the name of their table and something, and are switched on'
);
select is_empty(
    $$ select c.name, a.attname, format_type(a.atttypid, a.atttypmod)
       from own_relation as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_type as t on t.oid = a.atttypid
       where c.relkind in ('r', 'p', 'v')
         and coalesce(nullif(t.typbasetype, 0), a.atttypid) in ('timestamp'::regtype, 'date'::regtype, 'time'::regtype, 'timetz'::regtype) $$,
    'a time in a table or view knows its time zone'
);
select is_empty(
    $$ select signature from own_function
       where (proargtypes::oid[] || coalesce(proallargtypes, '{}') || prorettype)
           && array['timestamp'::regtype, 'date'::regtype, 'time'::regtype, 'timetz'::regtype]::oid[] $$,
    'a time that a function takes or returns knows its time zone'
);

-- Views.
select is_empty($$ select name from own_relation where relkind = 'v' and name !~ '^v_[a-z0-9]+(_[a-z0-9]+)*$' $$, 'views are called v_ and something');
select is_empty($$ select name from own_relation where relkind in ('m', 'f') $$, 'there are no materialised views and no foreign tables');
select is_empty(
    $$ select v.name, u.name from own_relation as v
       join pg_rewrite as rule on rule.ev_class = v.oid
       join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = rule.oid and d.refclassid = 'pg_class'::regclass
       join own_relation as u on u.oid = d.refobjid and u.relkind = 'v' and u.oid <> v.oid $$,
    'no view is built on another'
);
select is_empty(
    $$ select v.name, acl.privilege_type, acl.grantee::regrole from own_relation as v, aclexplode(v.relacl) as acl
       where v.relkind = 'v' and acl.grantee <> v.relowner
         and (acl.privilege_type <> 'SELECT' or acl.is_grantable or acl.grantee = 0 or acl.grantee::regrole::text not in (select role from runtime)) $$,
    'views may be read, by the four runtime roles only'
);
select is_empty(
    $$ select name from own_relation as v where v.relkind = 'v' and not exists (select from runtime where has_table_privilege(role, v.oid, 'select')) $$,
    'every view may be read by somebody'
);
select is_empty(
    $$ select name from own_relation as v where v.relkind = 'v' and not has_table_privilege('dotq_operator', v.oid, 'select') $$,
    'an operator may read every view'
);
-- Not by the names of the columns, which can be changed, but by what the view reads.
select is_empty(
    $$ select distinct v.name, c.name, a.attname
       from own_relation as v
       join pg_rewrite as rule on rule.ev_class = v.oid
       join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = rule.oid and d.refclassid = 'pg_class'::regclass
       join own_relation as c on c.oid = d.refobjid and c.relkind in ('r', 'p')
       join pg_attribute as a on a.attrelid = c.oid and a.attnum = d.refobjsubid
       where v.relkind = 'v' and has_table_privilege('dotq_reader', v.oid, 'select')
         and a.attname in ('payload_json', 'last_error', 'final_error', 'result', 'progress', 'checkpoint', 'metadata', 'triage_note') $$,
    'no view that a reader may see reads a payload, a result or the text of an error'
);
select is_empty(
    $$ select name from own_relation as v
       where v.relkind = 'v' and has_table_privilege('dotq_reader', v.oid, 'select') and pg_get_viewdef(v.oid) ~ '\w\.\*' $$,
    'no view that a reader may see takes a row as a whole, which would hide its columns from the law above'
);
select isnt_empty(
    $$ select from own_relation as v
       join pg_rewrite as rule on rule.ev_class = v.oid
       join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = rule.oid and d.refobjid = 'dotq.job_dead_letter'::regclass
       join pg_attribute as a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid and a.attname = 'payload_json'
       where v.name = 'v_dead_letter_triage' $$,
    'the law about readers would find a view that does'
);
select set_eq(
    $$ select name from own_function as f where has_function_privilege('dotq_reader', f.oid, 'execute') $$,
    array['fn_clock_now', 'fn_config_boolean', 'fn_config_integer', 'fn_config_readable', 'fn_config_spec', 'fn_queue_stale_check'],
    'a reader may call only what the views need, and the check for stale executors'
);

-- The catalogue.
select is_empty(
    $$ select name from own_function as f where exists (select from runtime where has_function_privilege(role, f.oid, 'execute'))
       except
       select name from dotq.v_catalog where object_type = 'function' and granted_to is not null $$,
    'every public function is in the catalogue, with who may call it'
);
select is_empty(
    $$ select name from own_relation where relkind = 'v' except select name from dotq.v_catalog where object_type = 'view' $$, 'every view is in the catalogue'
);

select * from finish();
rollback;
