begin;
select plan(6);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
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
