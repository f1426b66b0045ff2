begin;
select plan(3);

insert into dotq.job_queue (job_kind, state, idempotency_key, actor, created_at, scheduled_at, attempts, finished_at)
select kind, state, 'k' || n, 'test', created_at, scheduled_at, attempts, case when state = 'succeeded' then timestamptz '2030-01-01 12:00:00+00' end
from (
    values
        (1, 'mail', 'queued', timestamptz '2030-01-01 10:00:00+00', timestamptz '2030-01-01 13:00:00+00', 0),
        (2, 'mail', 'queued', '2030-01-01 11:00:00+00', '2030-01-01 12:00:00+00', 0),
        (3, 'mail', 'queued', '2030-01-01 09:00:00+00', '2030-01-01 14:00:00+00', 1),
        (4, 'mail', 'retry_waiting', '2030-01-01 09:00:00+00', '2030-01-01 15:00:00+00', 2),
        (5, 'mail', 'succeeded', '2030-01-01 08:00:00+00', '2030-01-01 08:00:00+00', 3),
        (6, 'sync', 'queued', '2030-01-01 07:00:00+00', '2030-01-01 16:00:00+00', 0)
) as made (n, kind, state, created_at, scheduled_at, attempts);
-- Grouping lends no order.
set local enable_sort = off;
set local enable_indexscan = off;
set local enable_indexonlyscan = off;
select results_eq(
    $$ select * from dotq.v_job_queue_backlog $$,
    $$ values
        ('mail', 'queued', 3::bigint, timestamptz '2030-01-01 09:00:00+00', timestamptz '2030-01-01 11:00:00+00', timestamptz '2030-01-01 12:00:00+00', 0.33, 1),
        ('mail', 'retry_waiting', 1, '2030-01-01 09:00:00+00', '2030-01-01 09:00:00+00', '2030-01-01 15:00:00+00', 2.00, 2),
        ('mail', 'succeeded', 1, '2030-01-01 08:00:00+00', '2030-01-01 08:00:00+00', null, 3.00, 3),
        ('sync', 'queued', 1, '2030-01-01 07:00:00+00', '2030-01-01 07:00:00+00', '2030-01-01 16:00:00+00', 0.00, 0) $$,
    'one row per kind and state, in that order: how many, how old, when the next is due while they wait, how many attempts'
);
select columns_are(
    'dotq', 'v_job_queue_backlog',
    array['job_kind', 'state', 'row_count', 'oldest_created_at', 'newest_created_at', 'next_scheduled_at', 'avg_attempts', 'max_attempts'],
    'the columns are named as documented'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_job_queue_backlog', 'select')
    ),
    array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker'],
    'producers, workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
