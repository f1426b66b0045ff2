create or replace function dotq.fn_kind_get(p_kind text)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_kind jsonb;
begin
    select to_jsonb(kind) into l_kind from dotq.job_kind as kind where job_kind = p_kind;

    if l_kind is null then
        raise exception 'kind: % is not registered', coalesce(quote_literal(dotq.fn_text_line(p_kind)), 'null') using errcode = 'JQ005';
    end if;

    return l_kind;
end
$fn$;

comment on function dotq.fn_kind_get is 'The whole policy of one kind, with its payload schema. Raises JQ005 (no such kind).';
revoke all on function dotq.fn_kind_get from public;
grant execute on function dotq.fn_kind_get to dotq_producer, dotq_worker, dotq_operator;
