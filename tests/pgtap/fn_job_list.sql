begin;
select plan(25);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
create function pg_temp.keys(
    p_states text[] default null, p_kind text default null, p_key text default null, p_limit integer default 50, p_after uuid default null
)
returns text
language sql
as $fn$
select string_agg(l.idempotency_key, ' ' order by l.place)
from dotq.fn_job_list(p_states, p_kind, p_key, p_limit, p_after) with ordinality as l (
    job_id, job_kind, state, priority, attempts, max_attempts, created_at, scheduled_at, lease_owner, lease_until, finished_at,
    idempotency_key, actor, last_error, place
)
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_list'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may list jobs with their errors, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_list'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);
select is((select provolatile from pg_proc where oid = 'dotq.fn_job_list'::regproc), 's', 'listing changes nothing');
select is_empty($$select * from dotq.fn_job_list()$$, 'an empty queue is an empty list');

insert into dotq.job_queue (
    job_id, job_kind, idempotency_key, actor, state, priority, attempts, max_attempts, created_at, scheduled_at, lease_owner, lease_until, finished_at, last_error
)
values
    ('00000000-0000-7000-8000-000000000002', 'mail', 'two', 'ann', 'leased', 3, 1, 4, '2030-01-01 10:00+00', '2030-01-01 11:00+00', 'w1', '2030-01-01 12:01+00', null, 'boom'),
    ('00000000-0000-7000-8000-000000000004', 'sms', 'four', 'bob', 'succeeded', 100, 1, 5, '2030-01-01 10:02+00', '2030-01-01 10:02+00', null, null, '2030-01-01 10:03+00', null),
    ('00000000-0000-7000-8000-000000000001', 'mail', 'one', 'ann', 'queued', 100, 0, 5, '2030-01-01 10:01+00', '2030-01-01 10:01+00', null, null, null, null),
    ('00000000-0000-7000-8000-000000000003', 'sms', 'three', 'bob', 'queued', 100, 0, 5, '2030-01-01 10:01+00', '2030-01-01 10:01+00', null, null, null, null);
select results_eq(
    $$select * from dotq.fn_job_list() offset 1$$,
    $$values
        ('00000000-0000-7000-8000-000000000003'::uuid, 'sms', 'queued', 100, 0, 5, '2030-01-01 10:01+00'::timestamptz, '2030-01-01 10:01+00'::timestamptz,
            null, null::timestamptz, null::timestamptz, 'three', 'bob', null),
        ('00000000-0000-7000-8000-000000000002', 'mail', 'leased', 3, 1, 4, '2030-01-01 10:00+00', '2030-01-01 11:00+00',
            'w1', '2030-01-01 12:01+00', null, 'two', 'ann', 'boom'),
        ('00000000-0000-7000-8000-000000000001', 'mail', 'queued', 100, 0, 5, '2030-01-01 10:01+00', '2030-01-01 10:01+00', null, null, null, 'one', 'ann', null)$$,
    'each job has its kind, state, numbers, times, holder, key, actor and error'
);
select is((select finished_at from dotq.fn_job_list() limit 1), '2030-01-01 10:03+00'::timestamptz, 'a finished one has its end');
select is(pg_temp.keys(), 'four three two one', 'jobs come newest first, by the time in their ids');
select is(pg_temp.keys(array['queued']), 'three one', 'they are filtered by one state');
select is(pg_temp.keys(array['queued', 'leased']), 'three two one', 'or several');
select is(pg_temp.keys(array['succeeded', 'in_progress', 'failed', 'retry_waiting', 'dead_letter', 'cancelled', 'cleaned']), 'four', 'every state is known');
select is(pg_temp.keys(p_kind => 'mail'), 'two one', 'they are filtered by kind');
select is(pg_temp.keys(p_kind => 'unheard-of'), null, 'an unknown kind has no jobs');
select is(pg_temp.keys(p_key => 'two'), 'two', 'and by key');
select is(pg_temp.keys(array['queued'], 'mail', 'two'), null, 'filters add up');
select is(pg_temp.keys(p_limit => 2), 'four three', 'a page is no longer than asked');
select is(
    pg_temp.keys(p_limit => 2, p_after => '00000000-0000-7000-8000-000000000003'), 'two one', 'the next page begins after the last job of this one'
);

insert into dotq.job_queue (job_kind, idempotency_key, actor) select 'many', 'm' || n, 'ann' from generate_series(1, 1000) as n;
select is((select count(*) from dotq.fn_job_list()), 50::bigint, 'a page has 50 jobs unless told otherwise');
select is((select count(*) from dotq.fn_job_list(p_limit => 1000)), 1000::bigint, 'and at most 1000');

select throws_ok($$select dotq.fn_job_list(p_limit => null)$$, '22023', 'limit: null is out of range', 'a limit is required');
select throws_ok($$select dotq.fn_job_list(p_limit => 0)$$, '22023', 'limit: 0 is out of range', 'a page of nothing is refused');
select throws_ok($$select dotq.fn_job_list(p_limit => 1001)$$, '22023', 'limit: 1001 is out of range', 'a page of more than 1000 is refused');
select throws_ok($$select dotq.fn_job_list(array['queued', 'running'])$$, '22023', 'states: ''running'' is not a state', 'an unknown state is refused by its name');
select throws_ok($$select dotq.fn_job_list('{}')$$, '22023', 'states: names 0 entries', 'an empty list of states is refused');
select throws_ok($$select dotq.fn_job_list(array[null])$$, '22023', 'states: is required', 'a null among the states is refused');
set local role dotq_operator;
select is((select count(*) from dotq.fn_job_list(p_limit => 3)), 3::bigint, 'an operator can list without rights on the tables');
reset role;

select * from finish();
rollback;
