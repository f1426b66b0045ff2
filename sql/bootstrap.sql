-- What must be true before the first migration runs: nobody else is migrating, the five roles exist, the schema
-- belongs to people who may be trusted with it, and the ledger is there. Applied on every install and upgrade; the
-- plan passes its values (dotq_plan.*) as settings that end with the transaction. From the end of this file on,
-- everything runs as dotq_owner.

-- The same files must give the same database, whoever applies them.
do $boot$
begin
    perform set_config(setting.name, setting.value, true)
    from (values
        ('client_min_messages', 'warning'),
        ('statement_timeout', '0'),
        ('standard_conforming_strings', 'on'),
        ('check_function_bodies', 'off'),
        ('quote_all_identifiers', 'off'),
        ('timezone', 'UTC'),
        ('datestyle', 'ISO, YMD'),
        ('intervalstyle', 'postgres'),
        ('lock_timeout', current_setting('dotq_plan.wait_timeout'))
    ) as setting (name, value);
end
$boot$;

-- One migration at a time per database. Waiting here holds up nobody, hence the longer limit. 1685025905 is 'dotq'.
do $boot$
begin
    perform pg_advisory_xact_lock(1685025905, 0);
exception
    when lock_not_available then
        raise exception 'another dotq migration is still running in this database (waited %)',
            current_setting('dotq_plan.wait_timeout')
        using errcode = '55P03',
            hint = 'Its process: select pid from pg_locks where locktype = ''advisory'' and classid = 1685025905 and objsubid = 2 and granted;';
end
$boot$;

-- Roles belong to the whole cluster: another database may be creating the same ones at this moment, and then the
-- loser of that race must go on with what the winner made.
do $boot$
declare
    l_role  text;
    l_fix   text := '';
begin
    foreach l_role in array array['dotq_owner', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader'] loop
        continue when exists (select from pg_roles where rolname = l_role);
        begin
            execute format('create role %I nologin', l_role);
        exception
            when duplicate_object or unique_violation then
                null;
            when insufficient_privilege then
                l_fix := l_fix || format('create role %I nologin; ', l_role);
            when lock_not_available then
                raise exception 'another database of this cluster is creating role % (waited %)',
                    l_role, current_setting('dotq_plan.wait_timeout')
                using errcode = '55P03', hint = 'Run it again when that has ended.';
        end;
    end loop;

    if l_fix <> '' then
        raise exception '% may not create the roles that dotq needs', current_user
        using errcode = 'JQ014',
            hint = format('Have an administrator run: %sgrant dotq_owner to %I;', l_fix, current_user);
    end if;

    if (select rolsuper from pg_roles where rolname = 'dotq_owner') then
        raise exception 'role dotq_owner is a superuser, and every public function of dotq would run with its rights'
        using errcode = 'JQ014', hint = 'Run: alter role dotq_owner nosuperuser;';
    end if;
end
$boot$;

-- From PostgreSQL 16 on, creating a role does not yet allow to act as it.
do $boot$
declare
    l_recent boolean := current_setting('server_version_num')::integer >= 160000;
    l_right  text := case when l_recent then 'SET' else 'MEMBER' end;
begin
    if not pg_has_role(session_user, 'dotq_owner', l_right) then
        begin
            execute format('grant dotq_owner to %I', current_user)
                || case when l_recent then ' with inherit false, set true' else '' end;
        exception
            -- The last two: another database of the cluster granted it in the same moment.
            when insufficient_privilege or unique_violation or internal_error then
                null;
        end;
    end if;

    if not pg_has_role(session_user, 'dotq_owner', l_right) then
        raise exception '% may not act as dotq_owner', session_user
        using errcode = 'JQ014',
            hint = format('Have an administrator run: grant dotq_owner to %I;', session_user);
    end if;
end
$boot$;

-- Whoever may create objects in the schema, or owns it, could put something of their own where a function that runs
-- with the owner's rights will find it. Such a right is refused rather than revoked, also on a schema of our own: it was
-- given on purpose, may have been used already, and whoever has it should hear of it from the administrator. A schema that
-- others use too keeps its other grants.
do $boot$
declare
    l_schema  text := current_setting('dotq_plan.schema');
    l_runtime text := 'dotq_producer, dotq_worker, dotq_operator, dotq_reader';
    l_new     boolean := not exists (select from pg_namespace where nspname = current_setting('dotq_plan.schema'));
    l_found   record;
    l_others  record;
    l_own     boolean;
begin
    if l_new then
        if not has_database_privilege(current_database(), 'CREATE') then
            raise exception '% may not create schema % in database %', current_user, l_schema, current_database()
            using errcode = 'JQ014',
                hint = format('Have an administrator run: grant create on database %I to %I;', current_database(), current_user);
        end if;
        execute format('create schema %I authorization dotq_owner', l_schema);
    end if;

    select
        n.oid,
        r.rolname as owner,
        r.rolname in ('dotq_owner', 'pg_database_owner', current_user, session_user)
            or r.rolsuper
            or r.oid = (select datdba from pg_database where datname = current_database()) as trusted
    into l_found
    from pg_namespace as n
    join pg_roles as r on r.oid = n.nspowner
    where n.nspname = l_schema;

    l_own := l_found.owner = 'dotq_owner';

    select
        string_agg(distinct case a.grantee when 0 then 'everybody' else r.rolname::text end, ', ') as names,
        string_agg(distinct case a.grantee when 0 then 'public' else quote_ident(r.rolname) end, ', ')
            || case when bool_or(a.is_grantable) then ' cascade' else '' end as grantees
    into l_others
    from pg_namespace as n
    cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
    left join pg_roles as r on r.oid = a.grantee
    where n.oid = l_found.oid
      and a.privilege_type = 'CREATE'
      and a.grantee not in (n.nspowner, 'dotq_owner'::regrole, 'pg_database_owner'::regrole)
      and a.grantee <> (select datdba from pg_database where datname = current_database())
      and r.rolsuper is not true;

    if not l_found.trusted then
        raise exception 'schema % belongs to %, who could replace what dotq keeps in it', l_schema, l_found.owner
        using errcode = 'JQ014', hint = format('Run: alter schema %I owner to dotq_owner;', l_schema);
    elsif l_others.names is not null then
        raise exception '% may create objects in schema %, so dotq cannot be kept there safely', l_others.names, l_schema
        using errcode = 'JQ014',
            hint = case
                when l_new then format('Run: alter default privileges for role dotq_owner revoke create on schemas from %s;', l_others.grantees)
                else format('Run: revoke create on schema %I from %s;', l_schema, l_others.grantees)
            end;
    end if;

    if l_own then
        perform set_config('role', 'dotq_owner', true);
        execute format('revoke all on schema %I from public', l_schema);
        execute format('grant usage on schema %I to %s', l_schema, l_runtime);
        return;
    end if;

    if not has_schema_privilege('dotq_owner', l_found.oid, 'USAGE')
        or not has_schema_privilege('dotq_owner', l_found.oid, 'CREATE')
        or exists (
            select
            from unnest(string_to_array(l_runtime, ', ')) as runtime (name)
            where not has_schema_privilege(runtime.name, l_found.oid, 'USAGE')
        )
    then
        begin
            execute format('grant usage, create on schema %I to dotq_owner', l_schema);
            execute format('grant usage on schema %I to %s', l_schema, l_runtime);
        exception
            when insufficient_privilege then
                null;
        end;
    end if;

    -- A grant that its giver had no right to give is a warning, not an error: look at the result.
    if not has_schema_privilege('dotq_owner', l_found.oid, 'CREATE') then
        raise exception '% may not let dotq_owner create objects in schema %', current_user, l_schema
        using errcode = 'JQ014',
            hint = format('Have the owner of the schema run: grant usage, create on schema %I to dotq_owner; grant usage on schema %I to %s;', l_schema, l_schema, l_runtime);
    end if;
    perform set_config('role', 'dotq_owner', true);
end
$boot$;

-- What others made there before counts too: a call finds the function whose parameters fit best, whoever owns it.
do $boot$
declare
    l_stranger text;
    l_function text;
begin
    select format('%s %s belongs to %s', case c.relkind when 'r' then 'table' else 'relation' end, c.oid::regclass, r.rolname)
    into l_stranger
    from pg_class as c
    join pg_roles as r on r.oid = c.relowner
    where c.oid in (to_regclass('dotq.schema_migration'), to_regclass('dotq.schema_release'))
      and (r.rolname <> 'dotq_owner' or c.relkind <> 'r');

    if found then
        raise exception '%, not to dotq_owner: this is not a ledger that dotq made', l_stranger
        using errcode = 'JQ014', hint = 'Rename or drop it, or install dotq in another schema.';
    end if;

    select p.oid::regprocedure, r.rolname
    into l_function, l_stranger
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace
    join pg_roles as r on r.oid = p.proowner
    where n.nspname = current_setting('dotq_plan.schema')
      and p.proname = any (current_setting('dotq_plan.functions')::text[] || 'fn_schema_fingerprint'::text)
      and r.rolname <> 'dotq_owner'
    order by p.oid::regprocedure::text
    limit 1;

    if found then
        raise exception 'function % belongs to %, and dotq could call it in place of its own of that name', l_function, l_stranger
        using errcode = 'JQ014', hint = format('Run: drop routine %s;', l_function);
    end if;
end
$boot$;

-- With "in schema" this statement would have no effect: the right of PUBLIC comes from the global default.
alter default privileges revoke execute on functions from public;

create table if not exists dotq.schema_migration (
    version     integer not null constraint schema_migration_pkey primary key,
    name        text not null,
    checksum    text not null,
    applied_at  timestamptz not null default now(),
    applied_by  text not null default session_user,
    duration_ms integer not null
);

create table if not exists dotq.schema_release (
    only_row     boolean not null default true
                     constraint schema_release_pkey primary key
                     constraint schema_release_one_row_check check (only_row),
    version      text not null,
    checksum     text not null,
    functions    text[] not null,
    views        text[] not null,
    objects      jsonb not null,
    server_major integer not null,
    applied_at   timestamptz not null default now(),
    applied_by   text not null default session_user
);

comment on table dotq.schema_migration is 'Which migration files this schema has had, in what wording, and when.';
comment on column dotq.schema_migration.checksum is 'SHA-256 of the file as it was applied; a file edited later is refused (JQ012).';
comment on column dotq.schema_migration.applied_by is 'The login that applied it.';
comment on table dotq.schema_release is 'Which release of functions and views this schema has; one row.';
comment on column dotq.schema_release.checksum is 'SHA-256 over all files of functions and views.';
comment on column dotq.schema_release.functions is 'Functions that the release''s files made; one that a later release no longer has is dropped by it.';
comment on column dotq.schema_release.views is 'Views that the release''s files made; dropped before the next migrations and made again after them.';
comment on column dotq.schema_release.objects is 'Fingerprint of each object, to find what was changed by hand.';
comment on column dotq.schema_release.server_major is 'Server that took the fingerprints; another major version may print a definition differently.';

-- Rights and storage settings are left out: they are the administrator's to tune. So is what this file makes itself.
create or replace function dotq.fn_schema_fingerprint()
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
with home as (
    select relnamespace as oid, relowner as owner
    from pg_class
    where oid = 'dotq.schema_migration'::regclass
),

relation as (
    select c.oid, c.relname as name, c.relkind as kind, c.reloptions as options
    from pg_class as c
    join home on home.oid = c.relnamespace and home.owner = c.relowner
    where c.relkind in ('r', 'p', 'v', 'S')
      and not c.relispartition
      and c.relname not in ('schema_migration', 'schema_release')
),

object (identity, definition) as (
    select
        format('function %s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
        jsonb_build_array(
            pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname, p.prokind, p.prosecdef,
            p.provolatile, p.proparallel, p.proisstrict, p.proleakproof, p.procost, p.prorows, p.proconfig, p.prosrc,
            pg_get_function_sqlbody(p.oid)
        )
    from pg_proc as p
    join home on home.oid = p.pronamespace and home.owner = p.proowner
    join pg_language as l on l.oid = p.prolang
    where p.proname <> 'fn_schema_fingerprint'
    union all
    select 'view ' || name, jsonb_build_array(pg_get_viewdef(oid), options)
    from relation
    where kind = 'v'
    union all
    select
        'table ' || r.name,
        jsonb_agg(
            jsonb_build_array(
                a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                pg_get_expr(d.adbin, d.adrelid)
            ) order by a.attnum
        )
    from relation as r
    join pg_attribute as a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where r.kind in ('r', 'p')
    group by r.name
    union all
    select
        format('constraint %s.%s', coalesce(r.name, t.typname), c.conname),
        jsonb_build_array(pg_get_constraintdef(c.oid), c.convalidated)
    from pg_constraint as c
    left join relation as r on r.oid = c.conrelid
    left join (
        select pg_type.oid, pg_type.typname
        from pg_type
        join home on home.oid = pg_type.typnamespace and home.owner = pg_type.typowner
    ) as t on t.oid = c.contypid
    where c.contype <> 'n' and (r.oid is not null or t.oid is not null)
    union all
    select 'index ' || c.relname, jsonb_build_array(pg_get_indexdef(i.indexrelid), i.indisvalid)
    from pg_index as i
    join pg_class as c on c.oid = i.indexrelid
    join relation as r on r.oid = i.indrelid
    union all
    select format('trigger %s.%s', r.name, t.tgname), jsonb_build_array(pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger as t
    join relation as r on r.oid = t.tgrelid
    where not t.tgisinternal
    union all
    select 'sequence ' || r.name, to_jsonb(s) - 'seqrelid'
    from relation as r
    join pg_sequence as s on s.seqrelid = r.oid
    union all
    select
        'domain ' || t.typname,
        jsonb_build_array(format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault)
    from pg_type as t
    join home on home.oid = t.typnamespace and home.owner = t.typowner
    where t.typtype = 'd'
)

select coalesce(jsonb_object_agg(identity, encode(sha256(convert_to(definition::text, 'UTF8')), 'hex')), '{}')
from object
$fn$;

comment on function dotq.fn_schema_fingerprint is
'A checksum for each function, view, table, constraint, index, trigger, sequence and domain of this schema, by name.
Compared with schema_release to find what was changed by hand.';
revoke all on function dotq.fn_schema_fingerprint from public;

-- Before anything changes: is this the database that these files expect?
do $boot$
declare
    l_text text;
begin
    select string_agg(format('%s (%s)', m.version, m.name), ', ' order by m.version)
    into l_text
    from dotq.schema_migration as m
    where m.version not in (
        select (k ->> 'version')::integer from jsonb_array_elements(current_setting('dotq_plan.migrations')::jsonb) as k
    );
    if l_text is not null then
        raise exception 'this database has migrations that dotq % does not know: %', current_setting('dotq_plan.release'), l_text
        using errcode = 'JQ013', hint = 'Use the release of dotq that applied them, or a later one.';
    end if;

    select string_agg(m.name, ', ' order by m.version)
    into l_text
    from dotq.schema_migration as m
    join jsonb_array_elements(current_setting('dotq_plan.migrations')::jsonb) as k on (k ->> 'version')::integer = m.version
    where m.checksum <> k ->> 'checksum';
    if l_text is not null then
        raise exception 'edited after it was applied to this database: %', l_text
        using errcode = 'JQ012', hint = 'Restore the file as it was, and put the change into a new migration.';
    end if;

    perform set_config('dotq_plan.objects_before', dotq.fn_schema_fingerprint()::text, true);
    perform set_config('lock_timeout', current_setting('dotq_plan.lock_timeout'), true);

    -- Run for a function whose file cannot replace it. Without cascade: what depends on it is for a person to judge.
    perform set_config('dotq_plan.make_way', $way$
do $do$
declare
    l_function regprocedure;
    l_users    text;
begin
    for l_function in
        select p.oid
        from pg_proc as p
        join pg_class as c on c.oid = 'dotq.schema_release'::regclass
        where p.pronamespace = c.relnamespace
          and p.proowner = c.relowner
          and p.proname = current_setting('dotq_plan.function')
    loop
        execute format('drop routine %s', l_function);
    end loop;
exception
    when dependent_objects_still_exist then
        get stacked diagnostics l_users = pg_exception_detail;
        raise exception '%, and it cannot be dropped: %', current_setting('dotq_plan.reason'), replace(l_users, e'\n', ', ')
        using errcode = 'JQ014',
            hint = 'Drop what depends on the function and migrate again. What dotq made itself, a migration must drop.';
end
$do$
$way$, true);
end
$boot$;

-- A migration may change the columns under a view; the release's own files make the views again.
do $boot$
declare
    l_view text;
begin
    for l_view in
        select c.relname
        from dotq.schema_release as s
        cross join unnest(s.views) as v (name)
        join pg_class as c on c.relname = v.name and c.relkind = 'v'
        where c.relnamespace = (select relnamespace from pg_class where oid = 'dotq.schema_release'::regclass)
        order by c.relname
    loop
        execute format('drop view %I.%I', current_setting('dotq_plan.schema'), l_view);
    end loop;
exception
    when dependent_objects_still_exist then
        raise exception 'view % is used by an object that dotq did not make', l_view
        using errcode = 'JQ014',
            hint = format('Drop that object, migrate, and make it again. It is listed by: drop view %I.%I;', current_setting('dotq_plan.schema'), l_view);
end
$boot$;
