drop view if exists dotq.v_catalog;
create view dotq.v_catalog as
select
    'function' as object_type,
    proc.proname::text as name,
    pg_get_function_identity_arguments(proc.oid) as arguments,
    pg_get_function_result(proc.oid) as returns,
    case when proc.prosecdef then 'definer' else 'invoker' end as security,
    (
        select string_agg(grantee.rolname, ', ' order by grantee.rolname)
        from aclexplode(proc.proacl) as acl
        join pg_roles as grantee on grantee.oid = acl.grantee
        where acl.privilege_type = 'EXECUTE' and acl.grantee <> proc.proowner
    ) as granted_to,
    obj_description(proc.oid, 'pg_proc') as description
from pg_proc as proc
where proc.pronamespace = (select relnamespace from pg_class where oid = 'dotq.job_queue'::regclass)
  and proc.proname like 'fn\_%'
  and proc.proowner = (select relowner from pg_class where oid = 'dotq.job_queue'::regclass)
union all
select
    case rel.relkind when 'v' then 'view' else 'table' end,
    rel.relname::text,
    null,
    null,
    null,
    (
        select string_agg(distinct grantee.rolname, ', ' order by grantee.rolname)
        from aclexplode(rel.relacl) as acl
        join pg_roles as grantee on grantee.oid = acl.grantee
        where acl.grantee <> rel.relowner
    ),
    obj_description(rel.oid, 'pg_class')
from pg_class as rel
where rel.relnamespace = (select relnamespace from pg_class where oid = 'dotq.job_queue'::regclass)
  and rel.relowner = (select relowner from pg_class where oid = 'dotq.job_queue'::regclass)
  and rel.relkind in ('r', 'v', 'p')
order by 1, 2;

comment on view dotq.v_catalog is 'Every function, view and table of dotq: what it takes and returns, under whose rights it runs, who may use it, what it is for.';
grant select on dotq.v_catalog to dotq_producer, dotq_worker, dotq_operator, dotq_reader;
