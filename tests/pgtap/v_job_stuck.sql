begin;
select plan(4);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

insert into dotq.job_queue (
    job_id, job_kind, state, idempotency_key, actor, attempts, max_attempts, crash_count, cancel_requested_at, lease_owner, lease_until, lease_token,
    lease_seconds, picked_at
)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'mail', state, 'k' || n, 'test', 2, 9, 1, cancelled_at, 'w1', lease_until, n, 300,
    '2030-01-01 11:00:00+00'
from (
    values
        (1, 'leased', timestamptz '2030-01-01 12:00:00+00', null::timestamptz),
        (2, 'in_progress', '2030-01-01 11:59:00+00', null),
        (3, 'leased', '2030-01-01 12:00:00.000001+00', null),
        (4, 'in_progress', '2030-01-01 12:30:00+00', '2030-01-01 11:59:00+00'),
        (5, 'leased', '2030-01-01 12:30:00+00', '2030-01-01 11:59:00.000001+00'),
        (6, 'leased', '2030-01-01 11:58:00+00', '2030-01-01 11:50:00+00')
) as made (n, state, lease_until, cancelled_at);
insert into dotq.job_queue (job_kind, state, idempotency_key, actor, cancel_requested_at, finished_at)
values ('mail', 'cancelled', 'k7', 'test', '2030-01-01 11:00:00+00', '2030-01-01 11:00:00+00');
select results_eq(
    $$ select right(job_id::text, 1), job_kind, state, lease_owner, lease_until, overdue_seconds, attempts, max_attempts, crash_count, picked_at,
           cancel_requested_at, reason
       from dotq.v_job_stuck $$,
    $$ values
        ('6', 'mail', 'leased', 'w1', timestamptz '2030-01-01 11:58:00+00', 120.000000, 2, 9, 1, timestamptz '2030-01-01 11:00:00+00',
            timestamptz '2030-01-01 11:50:00+00', 'its lease ran out and was not taken back'),
        ('2', 'mail', 'in_progress', 'w1', '2030-01-01 11:59:00+00', 60.000000, 2, 9, 1, '2030-01-01 11:00:00+00', null,
            'its lease ran out and was not taken back'),
        ('1', 'mail', 'leased', 'w1', '2030-01-01 12:00:00+00', 0.000000, 2, 9, 1, '2030-01-01 11:00:00+00', null,
            'its lease ran out and was not taken back'),
        ('4', 'mail', 'in_progress', 'w1', '2030-01-01 12:30:00+00', -1800.000000, 2, 9, 1, '2030-01-01 11:00:00+00', '2030-01-01 11:59:00+00',
            'its cancellation is overdue') $$,
    'jobs whose lease has ended, or whose cancel is past its grace, from that very moment on, longest overdue first, each with its reason'
);
select dotq.fn_config_set('queue.cancel.grace_sec', '0', 'test');
select is(
    (select count(*) from dotq.v_job_stuck where reason = 'its cancellation is overdue'), 2::bigint, 'the grace is that of the settings'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
update dotq.job_queue set lease_until = '2030-01-01 11:58:00+00' where job_id = '00000000-0000-0000-0000-000000000006';
select dotq.fn_queue_reap(100);
select is_empty($$ select from dotq.v_job_stuck $$, 'after the reaper has been nothing is stuck');

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_job_stuck', 'select')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
