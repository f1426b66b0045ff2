-- What comes after the last view: the migrations that were applied are written down, leftovers of the previous release
-- go, every body is checked, and the release is written down. Applied on every install and upgrade, as dotq_owner.

insert into dotq.schema_migration (version, name, checksum, duration_ms)
select version, name, checksum, duration_ms
from jsonb_to_recordset(current_setting('dotq_plan.applied')::jsonb)
    as applied (version integer, name text, checksum text, duration_ms integer);

-- Fresh install and upgrade end in the same catalogue: what the previous release made and this one lacks is dropped.
do $release$
declare
    l_function regprocedure;
begin
    for l_function in
        select p.oid
        from dotq.schema_release as s
        cross join unnest(s.functions) as f (name)
        join pg_proc as p on p.proname = f.name
        join pg_class as c on c.oid = 'dotq.schema_release'::regclass
        where p.pronamespace = c.relnamespace
          and p.proowner = c.relowner
          and f.name <> all (current_setting('dotq_plan.functions')::text[])
        order by p.oid
    loop
        execute format('drop function %s', l_function);
    end loop;
end
$release$;

-- The files are applied in alphabetical order with unchecked bodies, so that one may call another that comes later.
do $release$
declare
    l_oid      oid;
    l_language name;
begin
    perform set_config('check_function_bodies', 'on', true);
    for l_oid, l_language in
        select p.oid, l.lanname
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        join pg_class as c on c.oid = 'dotq.schema_release'::regclass
        where p.pronamespace = c.relnamespace and p.proowner = c.relowner
        order by p.proname
    loop
        if l_language = 'plpgsql' then
            perform plpgsql_validator(l_oid);
        elsif l_language = 'sql' then
            perform fmgr_sql_validator(l_oid);
        end if;
    end loop;
end
$release$;

-- An object that this run left alone keeps the fingerprint it had, so that a change made by hand stays visible until
-- somebody undoes it; one that is not ours never enters.
with before as (
    select key as identity, value as fingerprint
    from jsonb_each_text(current_setting('dotq_plan.objects_before')::jsonb)
),

recorded as (
    select o.key as identity, o.value as fingerprint
    from dotq.schema_release as s
    cross join jsonb_each_text(s.objects) as o
    where s.server_major = current_setting('server_version_num')::integer / 10000
),

now_there as (
    select key as identity, value as fingerprint
    from jsonb_each_text(dotq.fn_schema_fingerprint())
),

kept as (
    select
        n.identity,
        case
            when b.fingerprint is distinct from n.fingerprint then n.fingerprint
            when exists (select from recorded) then r.fingerprint
            else n.fingerprint
        end as fingerprint
    from now_there as n
    left join before as b using (identity)
    left join recorded as r using (identity)
),

-- Recorded, but gone before this run began and not brought back by it: still missing.
missing as (
    select r.identity, r.fingerprint
    from recorded as r
    where not exists (select from before as b where b.identity = r.identity)
      and not exists (select from now_there as n where n.identity = r.identity)
      and r.identity not like 'function %'
      and r.identity not like 'view %'
)

insert into dotq.schema_release as s (version, checksum, functions, views, objects, server_major)
select
    current_setting('dotq_plan.release'),
    current_setting('dotq_plan.checksum'),
    current_setting('dotq_plan.functions')::text[],
    current_setting('dotq_plan.views')::text[],
    (
        select jsonb_object_agg(o.identity, o.fingerprint)
        from (table kept union all table missing) as o
        where o.fingerprint is not null
    ),
    current_setting('server_version_num')::integer / 10000
on conflict (only_row) do update
set version = excluded.version,
    checksum = excluded.checksum,
    functions = excluded.functions,
    views = excluded.views,
    objects = excluded.objects,
    server_major = excluded.server_major,
    applied_at = excluded.applied_at,
    applied_by = excluded.applied_by
where (s.version, s.checksum, s.functions, s.views, s.objects, s.server_major)
    is distinct from
    (excluded.version, excluded.checksum, excluded.functions, excluded.views, excluded.objects, excluded.server_major);
