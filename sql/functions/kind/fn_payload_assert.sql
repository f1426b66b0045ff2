create or replace function dotq.fn_payload_assert(p_kind dotq.job_kind, p_payload jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_problem text;
begin
    perform dotq.fn_json_assert(
        'payload_json', p_payload, coalesce(p_kind.max_payload_bytes, dotq.fn_config_integer('queue.payload.max_bytes'))
    );

    if p_kind.payload_schema is not null then
        l_problem := dotq.fn_payload_part_problem(p_kind.payload_schema, p_payload, '$', p_kind.payload_schema);

        if l_problem is not null then
            raise exception 'payload_json: %', dotq.fn_text_line(l_problem)
                using errcode = 'JQ007', hint = format('The schema: select dotq.fn_kind_get(%L) -> ''payload_schema'';', p_kind.job_kind);
        end if;
    end if;
end
$fn$;

comment on function dotq.fn_payload_assert is
'Refuse a payload its kind does not take. Raises 22023 (type, size, depth, denied key), JQ007 (does not fit the schema of its kind).';
revoke all on function dotq.fn_payload_assert from public;
