begin;
select plan(0);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_uuid_v7'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_uuid_v7'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_uuid_v7'::regproc), 'v', 'it may answer differently each time');

create temp table made as
select ord, uuid_send(id) as bytes, id, before, after
from (
    select ord, clock_timestamp() as before, dotq.fn_uuid_v7() as id, clock_timestamp() as after
    from generate_series(1, 500) as ord
) as listed;

select is((select count(distinct id) from made), 500::bigint, 'no two are the same');
select is((select array_agg(distinct get_byte(bytes, 6) >> 4) from made), array[7], 'each says that its version is 7');
select is((select array_agg(distinct get_byte(bytes, 8) >> 6) from made), array[2], 'each has the variant of the standard');
select is_empty(
    $$select id
    from made
    where ('x' || encode(substring(bytes for 6), 'hex'))::bit(48)::bigint
        not between floor(extract(epoch from before) * 1000) and floor(extract(epoch from after) * 1000)$$,
    'each begins with the millisecond it was made in'
);
select cmp_ok(
    (select count(distinct substring(bytes from 10)) from made), '=', 500::bigint, 'the rest is random'
);

select * from finish();
rollback;
