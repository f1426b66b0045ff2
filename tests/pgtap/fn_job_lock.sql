begin;
select plan(14);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_lock'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_lock'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

-- Inserted and never locked: the lock taken here is the first that these rows bear.
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, lease_owner, lease_until, lease_token, lease_seconds)
values
    ('mail', 'leased', 'a', 'ann', 'w1', '2030-01-01 12:01:00+00', 11, 60),
    ('mail', 'in_progress', 'b', 'ann', 'w1', '2030-01-01 12:01:00+00', 12, 60);
insert into dotq.job_queue (job_kind, idempotency_key, actor, lease_token) values ('mail', 'waiting', 'ann', 13);

create temp table locked as select (dotq.fn_job_lock(pg_temp.id('a'), 'w1#11')).*;
select is((select to_jsonb(l) from locked as l), pg_temp.job('a'), 'the holder gets the whole job');
select results_eq(
    $$select idempotency_key from dotq.job_queue where xmax <> '0'$$, $$values ('a')$$, 'it is locked until the transaction ends, and no other is'
);
select is((dotq.fn_job_lock(pg_temp.id('b'), 'w1')).idempotency_key, 'b', 'the plain worker id of the holder is accepted');
set local test.clock = '2030-01-01 13:00:00+00';
select is((dotq.fn_job_lock(pg_temp.id('b'), 'w1#12')).idempotency_key, 'b', 'a lease that ran out is current until somebody takes it back');

select throws_ok($$select dotq.fn_job_lock(pg_temp.id('a'), 'w1#12')$$, 'JQ003',
    format('the lease ''w1#12'' on job %s is not current: it is held by w1 under a newer lease', pg_temp.id('a')), 'the right worker with the token of another lease is refused');
select throws_ok($$select dotq.fn_job_lock(pg_temp.id('a'), 'w2#11')$$, 'JQ003', null, 'another worker with the right token is refused');
select throws_ok($$select dotq.fn_job_lock(pg_temp.id('a'), 'w2')$$, 'JQ003', null, 'another worker by its plain id is refused');
select throws_ok($$select dotq.fn_job_lock(pg_temp.id('waiting'), 'w1#13')$$, 'JQ003', null, 'a job that nobody holds is refused');
select throws_ok(
    $$select dotq.fn_job_lock('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_job_lock(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_job_lock(pg_temp.id('a'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_job_lock(pg_temp.id('a'), '#11')$$, '22023', null, 'a malformed lease is refused');

select * from finish();
rollback;
