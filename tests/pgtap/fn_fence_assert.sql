begin;
select plan(16);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select pg_temp.waiting('waiting');
-- Inserted and never locked: the lock of the fence is the first that these rows bear.
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, picked_at, lease_owner, lease_until, lease_token, lease_seconds)
select 'mail', 'leased', key, 'ann', dotq.fn_clock_now(), 'w1', dotq.fn_clock_now() + interval '60 s', token, 60
from (values ('mine', 11), ('bystander', 12)) as given (key, token);
select pg_temp.remember('mine');

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_fence_assert'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may assert a fence, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_fence_assert'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

do $do$
begin
    perform dotq.fn_fence_assert(pg_temp.id('mine'), pg_temp.lease('mine'));
end
$do$;
select is(
    (select xmax::text from dotq.job_queue where idempotency_key = 'mine'),
    pg_current_xact_id()::text,
    'the job stays locked until the caller''s transaction ends'
);
select is(
    (select xmax::text from dotq.job_queue where idempotency_key = 'bystander'),
    '0',
    'no other job is locked'
);
select is(
    pg_temp.job('mine'),
    pg_temp.was('mine'),
    'asserting a fence changes nothing'
);
select lives_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w1')$$,
    'the plain worker id of the holder is accepted'
);

set local test.clock = '2030-01-01 13:00:00+00';
select lives_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), pg_temp.lease('mine'))$$,
    'a lease that ran out is current until somebody takes it back'
);

select throws_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w1#' || split_part(pg_temp.lease('bystander'), '#', 2))$$,
    'JQ003', null, 'the right worker with the token of another lease is refused'
);
select throws_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w2#' || split_part(pg_temp.lease('mine'), '#', 2))$$,
    'JQ003', null, 'another worker with the right token is refused'
);
select throws_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w2')$$,
    'JQ003', null, 'a worker that does not hold the job is refused'
);
select throws_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('waiting'), 'w1')$$,
    'JQ003', null, 'a job that nobody holds is refused'
);
select throws_ok(
    $$select dotq.fn_fence_assert('00000000-0000-7000-8000-000000000000', 'w1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
select throws_ok($$select dotq.fn_fence_assert(null, 'w1')$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok($$select dotq.fn_fence_assert(pg_temp.id('mine'), null)$$, '22023', 'lease: null is not a lease', 'the lease is required');
select throws_ok($$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w1#x')$$, '22023', null, 'a malformed lease is refused');

select dotq.fn_job_ack(pg_temp.id('mine'), 'w1');
select throws_ok(
    $$select dotq.fn_fence_assert(pg_temp.id('mine'), 'w1')$$,
    'JQ003', null, 'a job that has ended is refused'
);

select * from finish();
rollback;
