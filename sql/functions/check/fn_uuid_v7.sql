-- PostgreSQL has its own from version 18 on; this one serves 15 to 17 alike.
create or replace function dotq.fn_uuid_v7()
returns uuid
language sql
volatile
set search_path = pg_catalog, pg_temp
as $fn$
select encode(
    set_bit(set_bit(
        overlay(
            uuid_send(gen_random_uuid())
            placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
            from 1 for 6
        ), 52, 1), 53, 1),
    'hex'
)::uuid
$fn$;

comment on function dotq.fn_uuid_v7 is 'A new version 7 uuid: begins with the time, so that new ids are neighbours in an index.';
revoke all on function dotq.fn_uuid_v7 from public;
