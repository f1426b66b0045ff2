begin;
select plan(3);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

insert into dotq.job_queue (job_id, job_kind, state, idempotency_key, actor, created_at, picked_at, attempts, finished_at)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'mail', state, 'k' || n, 'test', '2030-01-01 10:00:00+00', picked_at, n, finished_at
from (
    values
        (1, 'succeeded', timestamptz '2030-01-01 10:00:30+00', timestamptz '2030-01-01 11:00:00+00'),
        (2, 'failed', '2030-01-01 10:00:30+00', '2030-01-01 11:00:00.000001+00'),
        (3, 'cancelled', null, '2030-01-01 12:00:00+00'),
        (4, 'succeeded', '2030-01-01 11:30:00+00', '2030-01-01 11:30:02.5+00'),
        (5, 'queued', null, null)
) as made (n, state, picked_at, finished_at);
select results_eq(
    $$ select * from dotq.v_job_recent $$,
    $$ values
        (uuid '00000000-0000-0000-0000-000000000003', 'mail', 'cancelled', 3, timestamptz '2030-01-01 10:00:00+00', null::timestamptz,
            timestamptz '2030-01-01 12:00:00+00', null::numeric, null::numeric),
        ('00000000-0000-0000-0000-000000000004', 'mail', 'succeeded', 4, '2030-01-01 10:00:00+00', '2030-01-01 11:30:00+00',
            '2030-01-01 11:30:02.5+00', 5400.000000, 2.500000),
        ('00000000-0000-0000-0000-000000000002', 'mail', 'failed', 2, '2030-01-01 10:00:00+00', '2030-01-01 10:00:30+00',
            '2030-01-01 11:00:00.000001+00', 30.000000, 3570.000001) $$,
    'jobs that ended less than an hour ago, however they ended, newest first, with how long they waited and ran'
);
select columns_are(
    'dotq', 'v_job_recent',
    array['job_id', 'job_kind', 'state', 'attempts', 'created_at', 'picked_at', 'finished_at', 'wait_seconds', 'run_seconds'],
    'the columns are named as documented'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_job_recent', 'select')
    ),
    array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker'],
    'producers, workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
