begin;
select plan(10);

select is(
    (select to_jsonb(c) from dotq.v_catalog as c where name = 'fn_dead_letter_replay'),
    jsonb_build_object(
        'object_type', 'function', 'name', 'fn_dead_letter_replay', 'arguments', 'p_dead_letter_id uuid, p_actor text', 'returns', 'jsonb',
        'security', 'definer', 'granted_to', 'dotq_operator', 'description', obj_description('dotq.fn_dead_letter_replay'::regproc, 'pg_proc')
    ),
    'a function shows what it takes and returns, under whose rights it runs, who may use it and what it is for'
);
select is(
    (select jsonb_agg(jsonb_build_array(security, granted_to)) from dotq.v_catalog where name in ('fn_clock_now', 'fn_job_crash')),
    '[["invoker", "dotq_operator, dotq_producer, dotq_reader, dotq_worker"], ["invoker", null]]',
    'a function shows every role that may use it, and a helper none'
);
select is(
    (select to_jsonb(c) from dotq.v_catalog as c where name = 'v_job_dead_letter_summary'),
    jsonb_build_object(
        'object_type', 'view', 'name', 'v_job_dead_letter_summary', 'arguments', null, 'returns', null, 'security', null,
        'granted_to', 'dotq_operator, dotq_reader', 'description', obj_description('dotq.v_job_dead_letter_summary'::regclass, 'pg_class')
    ),
    'a view shows who may use it and what it is for'
);
select is(
    (select to_jsonb(c) from dotq.v_catalog as c where name = 'queue_leader'),
    jsonb_build_object(
        'object_type', 'table', 'name', 'queue_leader', 'arguments', null, 'returns', null, 'security', null, 'granted_to', null,
        'description', obj_description('dotq.queue_leader'::regclass, 'pg_class')
    ),
    'a table shows what it is for, and that nobody may use it'
);
select results_eq(
    $$ select object_type, name from dotq.v_catalog where object_type <> 'function' $$,
    $$ select case relkind when 'v' then 'view' else 'table' end, relname::text from pg_class
       where relnamespace = 'dotq'::regnamespace and relkind in ('r', 'v', 'p') order by 1, 2 $$,
    'every table and view is listed once, by name'
);
select results_eq(
    $$ select name from dotq.v_catalog where object_type = 'function' $$,
    $$ select proname::text from pg_proc where pronamespace = 'dotq'::regnamespace order by 1 $$,
    'every function is listed once, by name'
);
select is((select object_type from dotq.v_catalog limit 1), 'function', 'functions come first, then tables, then views');

-- What is not of dotq.
create temp table before as select * from dotq.v_catalog;
create function dotq.fn_stranger() returns integer language sql as 'select 1';
create function dotq.strange() returns integer language sql as 'select 1';
alter function dotq.strange() owner to dotq_owner;
create table dotq.stranger (n integer);
create function public.fn_elsewhere() returns integer language sql as 'select 1';
alter function public.fn_elsewhere() owner to dotq_owner;
create table public.elsewhere (n integer);
alter table public.elsewhere owner to dotq_owner;
select results_eq($$ select * from dotq.v_catalog $$, $$ select * from before $$, 'what others keep in the schema, or dotq_owner elsewhere, is left out');
create table dotq.parted (n integer) partition by list (n);
alter table dotq.parted owner to dotq_owner;
grant select, insert on dotq.parted to dotq_worker;
select is(
    (select jsonb_build_array(object_type, granted_to) from dotq.v_catalog where name = 'parted'), '["table", "dotq_worker"]',
    'a partitioned table is a table, and a role with several rights is named once'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_catalog', 'select')
    ),
    array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker'],
    'producers, workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
