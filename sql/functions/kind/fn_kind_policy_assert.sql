create or replace function dotq.fn_kind_policy_assert(p_policy jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $fn$
declare
    l_bad record;
    l_problem text;
begin
    if p_policy is null or jsonb_typeof(p_policy) <> 'object' then
        raise exception 'policy: must be a JSON object' using errcode = '22023', hint = 'Allowed: such as {"max_attempts": 3}.';
    end if;

    select given.key, given.value, spec.allowed into l_bad
    from jsonb_each(p_policy) as given
    left join dotq.fn_kind_policy_spec() as spec on spec.name = given.key
    where spec.name is null
       or given.value <> 'null' and (
            jsonb_typeof(given.value) <> spec.json_type
            or case spec.json_type
                when 'number' then (given.value::numeric not between spec.minimum and spec.maximum)
                    or spec.name <> 'backoff_jitter' and given.value::numeric <> trunc(given.value::numeric)
                when 'string' then (spec.choices is not null and not given.value #>> '{}' = any (spec.choices))
                    or char_length(given.value #>> '{}') > 200 or btrim(given.value #>> '{}') = ''
                else false
            end
       )
    limit 1;

    if found and l_bad.allowed is null then
        raise exception 'policy: % is not a policy of a kind', quote_literal(dotq.fn_text_line(l_bad.key))
            using errcode = '22023',
                  hint = (select 'Allowed: ' || string_agg(name, ', ') || '.' from dotq.fn_kind_policy_spec());
    elsif found then
        raise exception 'policy: % cannot be %', l_bad.key, left(l_bad.value::text, 100)
            using errcode = '22023', hint = format('Allowed: %s, or null for the default.', l_bad.allowed);
    end if;

    l_problem := dotq.fn_payload_schema_problem(p_policy -> 'payload_schema');

    if l_problem is not null then
        raise exception 'policy: payload_schema: %', dotq.fn_text_line(l_problem) using errcode = '22023';
    end if;
end
$fn$;

comment on function dotq.fn_kind_policy_assert is 'Refuse a policy object with an unknown name, a wrong type or a value out of range. Raises 22023.';
revoke all on function dotq.fn_kind_policy_assert from public;
