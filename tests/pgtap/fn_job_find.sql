begin;
select plan(6);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

create or replace function dotq.fn_clock_now()
returns timestamptz
language sql
volatile
set search_path = pg_catalog, pg_temp
as $fn$
select current_setting('test.clock')::timestamptz
$fn$;
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
-- Jobs go by their idempotency key; was() is the row as remember() saw it.
create temp table remembered (key text primary key, job jsonb);

create function pg_temp.job(p_key text)
returns jsonb
language sql
as $fn$
select to_jsonb(q) from dotq.job_queue as q where q.idempotency_key = p_key
$fn$;

create function pg_temp.id(p_key text)
returns uuid
language sql
as $fn$
select q.job_id from dotq.job_queue as q where q.idempotency_key = p_key
$fn$;

create function pg_temp.lease(p_key text)
returns text
language sql
as $fn$
select q.lease_owner || '#' || q.lease_token from dotq.job_queue as q where q.idempotency_key = p_key
$fn$;

create function pg_temp.was(p_key text)
returns jsonb
language sql
as $fn$
select job from remembered where key = p_key
$fn$;

create function pg_temp.remember(p_key text)
returns void
language sql
as $fn$
insert into remembered values (p_key, pg_temp.job(p_key)) on conflict (key) do update set job = excluded.job
$fn$;

create function pg_temp.waiting(p_key text)
returns void
language plpgsql
as $fn$
begin
    perform dotq.fn_job_enqueue(p_key, 'ann', p_key, jsonb_build_object('for', p_key));
    perform pg_temp.remember(p_key);
end
$fn$;

create function pg_temp.leased(p_key text)
returns void
language plpgsql
as $fn$
begin
    perform pg_temp.waiting(p_key);
    perform dotq.fn_job_claim('w1', 60, array[p_key]);
    perform pg_temp.remember(p_key);
end
$fn$;
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_find'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_find'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

-- Inserted and never locked: the lock taken here is the first that these rows bear.
insert into dotq.job_queue (job_kind, idempotency_key, actor) values ('mail', 'a', 'ann'), ('mail', 'b', 'ann');
create temp table found as select (dotq.fn_job_find(pg_temp.id('a'))).*;
select is((select to_jsonb(f) from found as f), pg_temp.job('a'), 'the whole job is returned, and only that one');
select results_eq(
    $$select idempotency_key from dotq.job_queue where xmax <> '0'$$, $$values ('a')$$, 'it is locked until the transaction ends, and no other is'
);
select throws_ok($$select dotq.fn_job_find(null)$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_find('00000000-0000-7000-8000-000000000000')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);

select * from finish();
rollback;
