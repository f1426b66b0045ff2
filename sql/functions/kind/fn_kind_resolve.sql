-- The second look follows a lost race: two first jobs of one kind, enqueued at once, register it once.
create or replace function dotq.fn_kind_resolve(p_job_kind text, p_actor text)
returns dotq.job_kind
language plpgsql
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_kind dotq.job_kind;
begin
    select * into l_kind from dotq.job_kind where job_kind = p_job_kind;

    if not found then
        if dotq.fn_config_boolean('queue.kind.strict') then
            raise exception 'job_kind: % is not registered', quote_literal(p_job_kind)
                using errcode = 'JQ005',
                      hint = format('An operator registers it with: select dotq.fn_kind_set(%L, ''{}'', <actor>);', p_job_kind);
        end if;

        insert into dotq.job_kind (job_kind, registered_by) values (p_job_kind, p_actor) on conflict (job_kind) do nothing;
        select * into l_kind from dotq.job_kind where job_kind = p_job_kind;
    end if;

    if not l_kind.enabled then
        raise exception 'job_kind: % is disabled', quote_literal(p_job_kind)
            using errcode = 'JQ006',
                  hint = format('An operator enables it with: select dotq.fn_kind_set(%L, ''{"enabled": true}'', <actor>);', p_job_kind);
    end if;

    return l_kind;
end
$fn$;

comment on function dotq.fn_kind_resolve is
'The policy of a kind; a new kind is registered with defaults. Raises JQ005 (unknown kind while queue.kind.strict is on), JQ006 (kind disabled).';
revoke all on function dotq.fn_kind_resolve from public;
