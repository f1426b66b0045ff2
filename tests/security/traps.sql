-- Laid by the attacker, with nothing but the right to have a schema. bell counts every trap that goes off, owner_bell those
-- that go off with somebody else's rights; a sequence keeps counting when its transaction is rolled back.
create schema trap;
grant usage on schema trap to public;
create sequence trap.bell;
create sequence trap.owner_bell;
grant all on all sequences in schema trap to public;

create function trap.ring() returns boolean language plpgsql as $fn$
begin
    perform pg_catalog.nextval('trap.bell');
    if current_user operator(pg_catalog.<>) session_user then
        perform pg_catalog.nextval('trap.owner_bell');
    end if;
    return true;
end
$fn$;
create function trap.ring_row() returns trigger language plpgsql as $fn$
begin
    perform trap.ring();
    return coalesce(new, old);
end
$fn$;

-- Every function that the bodies name, with each of its signatures; then every operator; then every name as a type, a table
-- with a trigger and a policy, and a view. What cannot be made is left out; the test knows how many there must be.
do $do$
declare
    l_words text[];
    l_made record;
    l_word text;
    l_functions integer := 0;
    l_operators integer := 0;
    l_relations integer := 0;
    l_types integer := 0;
begin
    select array_agg(distinct word[1]) into l_words
    from pg_catalog.pg_proc as p, regexp_matches(p.prosrc, '[a-z_][a-z0-9_]*', 'g') as word
    where p.pronamespace = 'dotq'::regnamespace;

    for l_made in
        select p.proname, pg_get_function_identity_arguments(p.oid) as arguments, format_type(p.prorettype, null) as type, p.proretset
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any (l_words) and p.prokind = 'f'
    loop
        begin
            execute format(
                'create function trap.%I(%s) returns %s %s language plpgsql as $b$ begin perform trap.ring(); return%s; end $b$',
                l_made.proname, l_made.arguments, case when l_made.proretset then 'setof' else '' end, l_made.type,
                case when l_made.proretset or l_made.type = 'void' then '' else ' null' end
            );
            l_functions := l_functions + 1;
        exception when others then null;
        end;
    end loop;

    for l_made in
        select o.oid, o.oprname, format_type(o.oprleft, null) as l, format_type(o.oprright, null) as r, format_type(o.oprresult, null) as type
        from pg_catalog.pg_operator as o
        where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft <> 0
          and o.oprleft::regtype::text = any (array['text', 'integer', 'bigint', 'boolean', 'jsonb', 'uuid', 'numeric', 'interval',
              'timestamp with time zone', 'double precision', 'anyarray', 'oid', 'name'])
    loop
        begin
            execute format(
                'create function trap.op_%s(%s, %s) returns %s language plpgsql as $b$ begin perform trap.ring(); return null; end $b$',
                l_made.oid, l_made.l, l_made.r, l_made.type
            );
            execute format('create operator trap.%s (leftarg = %s, rightarg = %s, function = trap.op_%s)', l_made.oprname, l_made.l, l_made.r, l_made.oid);
            l_operators := l_operators + 1;
        exception when others then null;
        end;
    end loop;

    foreach l_word in array array['trap', 'pg_temp'] loop
        for l_made in
            select relname as name, relkind = 'v' as is_view from pg_catalog.pg_class where relnamespace = 'dotq'::regnamespace and relkind in ('r', 'p', 'v', 'S')
            union
            select relname, false from pg_catalog.pg_class where relnamespace = 'pg_catalog'::regnamespace and relname = any (l_words)
        loop
            begin
                if l_made.is_view then
                    execute format('create view %I.%I as select trap.ring() as key, trap.ring() as code', l_word, l_made.name);
                else
                    execute format(
                        'create table %I.%I (key text default trap.ring()::text, value text, job_id uuid, job_kind text, state text, '
                        'enabled boolean default trap.ring(), lease_owner text, check (trap.ring()))', l_word, l_made.name
                    );
                    execute format('insert into %I.%I values (''queue.job_substrate.enabled'', ''true'')', l_word, l_made.name);
                    execute format('alter table %I.%I enable row level security, force row level security', l_word, l_made.name);
                    execute format('create policy ring on %I.%I using (trap.ring()) with check (trap.ring())', l_word, l_made.name);
                    execute format(
                        'create trigger ring before insert or update or delete on %I.%I for each row execute function trap.ring_row()', l_word, l_made.name
                    );
                    execute format('grant all on %I.%I to public', l_word, l_made.name);
                end if;
                l_relations := l_relations + 1;
            exception when others then null;
            end;
        end loop;

        for l_made in
            select t.typname as name from pg_catalog.pg_type as t
            where t.typnamespace in ('pg_catalog'::regnamespace, 'dotq'::regnamespace) and t.typtype in ('b', 'd')
              and (t.typname = any (l_words) or t.typname in ('int4', 'int8', 'bool', 'timestamptz', 'text', 'jsonb', 'uuid', 'numeric', 'interval'))
        loop
            begin
                execute format('create domain %I.%I as pg_catalog.text check (trap.ring())', l_word, l_made.name);
                l_types := l_types + 1;
            exception when others then null;
            end;
        end loop;
    end loop;

    perform set_config('trap.made', format('%s %s %s %s', l_functions, l_operators, l_relations, l_types), false);
end
$do$;
