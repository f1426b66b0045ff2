begin;
select plan(22);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

create function pg_temp.found(p_invariant text)
returns table (subject text, detail text)
language sql
as $fn$
select f.subject, f.detail from dotq.fn_queue_fsck() as f where f.invariant = p_invariant order by 1
$fn$;
create function pg_temp.id(p_number integer)
returns uuid
language sql
as $fn$
select ('00000000-0000-7000-8000-' || lpad(p_number::text, 12, '0'))::uuid
$fn$;

select is_empty($$ select * from dotq.fn_queue_fsck() $$, 'a fresh queue is sound');

-- Every state as the queue makes it, each number as high as it may be.
create temp table sequence as select setval('dotq.lease_token_seq', nextval('dotq.lease_token_seq') + 100) as newest;
select dotq.fn_kind_set('mail', '{}', 'test');
insert into dotq.job_queue (
    job_id, job_kind, state, idempotency_key, actor, attempts, max_attempts, lease_owner, lease_until, lease_token, lease_seconds, finished_at
)
select pg_temp.id(n), 'mail', state, key, 'test', attempts, 5,
    case when leased then 'w1' end, case when leased then timestamptz '2030-01-01 12:05:00+00' end, token + sequence.newest,
    case when token is not null then 300 end, case when ended then timestamptz '2030-01-01 12:00:00+00' end
from sequence,
    (
        values
            (1, 'queued', 'k1', 4, false, null::integer, false),
            (2, 'retry_waiting', 'k2', 4, false, null, false),
            (3, 'leased', 'k3', 5, true, 0, false),
            (4, 'in_progress', 'k4', 5, true, -1, false),
            (5, 'succeeded', 'k1', 5, false, 0, true),
            (6, 'failed', 'k1', 5, false, 0, true),
            (7, 'dead_letter', 'k1', 5, false, -1, true),
            (8, 'cancelled', 'k1', 0, false, null, true),
            (9, 'cleaned', 'k1', 5, false, null, true),
            (10, 'queued', pg_temp.id(10)::text, 0, false, null, false),
            (11, 'queued', pg_temp.id(10)::text, 0, false, null, false)
    ) as made (n, state, key, attempts, leased, token, ended);
insert into dotq.job_dead_letter (
    job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, cause, error_fingerprint, priority,
    max_attempts, crash_count, metadata, job_created_at
)
select pg_temp.id(n), 'mail', '{}', 'boom', 5, 'test', 'k1', 'test', 'exhausted', 'f', 100, 5, 0, '{}', '2030-01-01 11:00:00+00'
from unnest(array[6, 7, 9, 99]) as n;
select is_empty(
    $$ select * from dotq.fn_queue_fsck() $$,
    'a queue with a job in every state is sound; a dead letter may outlive its job, and a job without a key of its own may have its id used as one'
);

-- What the tables would not let in is let in now.
alter table dotq.job_queue drop constraint job_queue_lease_and_finish_check;
drop index dotq.job_queue_idempotency_active_uq;

savepoint sound;
update dotq.job_queue set lease_owner = 'w9', lease_until = '2030-01-01 12:00:00+00', lease_seconds = 1, lease_token = 1 where job_id = pg_temp.id(1);
update dotq.job_queue set lease_owner = null where job_id = pg_temp.id(3);
update dotq.job_queue set lease_owner = null where job_id = pg_temp.id(4);
select results_eq(
    $$ select * from pg_temp.found('a lease is held exactly by leased and in_progress jobs') $$,
    $$ values
        (pg_temp.id(1)::text, 'state queued, lease_owner w9'), (pg_temp.id(3)::text, 'state leased, lease_owner '),
        (pg_temp.id(4)::text, 'state in_progress, lease_owner ') $$,
    'a lease on a waiting job and a running job without one are found'
);
rollback to savepoint sound;
update dotq.job_queue set lease_until = null where job_id = pg_temp.id(3);
select results_eq(
    $$ select subject from pg_temp.found('a lease is held exactly by leased and in_progress jobs') $$, array[pg_temp.id(3)::text],
    'a lease that never ends is found'
);
rollback to savepoint sound;
update dotq.job_queue set lease_token = null where job_id = pg_temp.id(3);
select results_eq(
    $$ select subject from pg_temp.found('a lease is held exactly by leased and in_progress jobs') $$, array[pg_temp.id(3)::text],
    'a lease without a token is found'
);
rollback to savepoint sound;
update dotq.job_queue set lease_seconds = null where job_id = pg_temp.id(3);
select results_eq(
    $$ select subject from pg_temp.found('a lease is held exactly by leased and in_progress jobs') $$, array[pg_temp.id(3)::text],
    'a lease without a length is found'
);
rollback to savepoint sound;

update dotq.job_queue set finished_at = '2030-01-01 12:00:00+00' where finished_at is null;
select is(
    (select string_agg(subject, ',') from pg_temp.found('finished_at is set exactly on jobs that have ended')),
    (select string_agg(pg_temp.id(n)::text, ',' order by n) from unnest(array[1, 2, 3, 4, 10, 11]) as n),
    'a time of ending on a job that has not ended is found'
);
rollback to savepoint sound;
set local timezone = 'UTC';
update dotq.job_queue set finished_at = null where finished_at is not null;
select results_eq(
    $$ select * from pg_temp.found('finished_at is set exactly on jobs that have ended') $$,
    $$ values
        (pg_temp.id(5)::text, 'state succeeded, finished_at '), (pg_temp.id(6)::text, 'state failed, finished_at '),
        (pg_temp.id(7)::text, 'state dead_letter, finished_at '), (pg_temp.id(8)::text, 'state cancelled, finished_at '),
        (pg_temp.id(9)::text, 'state cleaned, finished_at ') $$,
    'a job that has ended without a time of ending is found'
);
rollback to savepoint sound;

update dotq.job_queue set attempts = 6 where job_id = pg_temp.id(5);
select results_eq(
    $$ select * from dotq.fn_queue_fsck() $$,
    $$ values ('attempts never exceed max_attempts', pg_temp.id(5)::text, 'attempts 6 of 5') $$,
    'more executions than allowed are found'
);
rollback to savepoint sound;
update dotq.job_queue set attempts = 5 where job_id in (pg_temp.id(1), pg_temp.id(2));
select results_eq(
    $$ select * from dotq.fn_queue_fsck() order by subject $$,
    $$ values
        ('a waiting job has an attempt left', pg_temp.id(1)::text, 'attempts 5 of 5'),
        ('a waiting job has an attempt left', pg_temp.id(2)::text, 'attempts 5 of 5') $$,
    'a job that waits for an attempt it does not have is found'
);
rollback to savepoint sound;

update dotq.job_queue set idempotency_key = 'j' where job_id in (pg_temp.id(1), pg_temp.id(3), pg_temp.id(5));
update dotq.job_queue set idempotency_key = 'k' where job_id in (pg_temp.id(2), pg_temp.id(4), pg_temp.id(10));
select results_eq(
    $$ select * from dotq.fn_queue_fsck() order by subject $$,
    $$ values
        ('an idempotency key has at most one active job', pg_temp.id(1)::text, 'kind mail, key j, 2 jobs'),
        ('an idempotency key has at most one active job', pg_temp.id(2)::text, 'kind mail, key k, 3 jobs') $$,
    'several active jobs with one key are found'
);
rollback to savepoint sound;
select dotq.fn_kind_set('other', '{}', 'test');
update dotq.job_queue set idempotency_key = 'k' where job_id in (pg_temp.id(1), pg_temp.id(2));
update dotq.job_queue set job_kind = 'other' where job_id = pg_temp.id(2);
select is_empty($$ select * from dotq.fn_queue_fsck() $$, 'jobs of two kinds may have one key');
rollback to savepoint sound;

delete from dotq.job_dead_letter where job_id in (pg_temp.id(6), pg_temp.id(7), pg_temp.id(9));
select results_eq(
    $$ select * from dotq.fn_queue_fsck() order by subject $$,
    $$ values
        ('every job that ended badly has its dead letter', pg_temp.id(6)::text, 'state failed, no dead letter'),
        ('every job that ended badly has its dead letter', pg_temp.id(7)::text, 'state dead_letter, no dead letter') $$,
    'a job that ended badly without a dead letter is found'
);
rollback to savepoint sound;
update dotq.job_dead_letter set job_id = pg_temp.id(5) where job_id = pg_temp.id(99);
select results_eq(
    $$ select * from dotq.fn_queue_fsck() $$,
    $$ select 'a dead letter belongs to a job that ended badly', dead_letter_id::text, format('job %s is succeeded', pg_temp.id(5))
       from dotq.job_dead_letter where job_id = pg_temp.id(5) $$,
    'a dead letter of a job that did not end badly is found'
);
rollback to savepoint sound;

update dotq.job_queue set lease_token = (select newest from sequence) where job_id = pg_temp.id(4);
select results_eq(
    $$ select * from dotq.fn_queue_fsck() $$,
    $$ select 'a lease token is held once', pg_temp.id(3)::text, format('token %s on 2 jobs', newest) from sequence $$,
    'two running jobs with one token are found; a finished one keeps its token'
);
rollback to savepoint sound;
update dotq.job_queue set lease_token = (select newest + 1 from sequence) where job_id = pg_temp.id(3);
select results_eq(
    $$ select * from dotq.fn_queue_fsck() $$,
    $$ select 'no lease token is ahead of its sequence', pg_temp.id(3)::text, format('token %s, sequence at %s', newest + 1, newest) from sequence $$,
    'a token that will be given out again is found'
);
rollback to savepoint sound;
alter sequence dotq.lease_token_seq restart;
update dotq.job_queue set lease_token = 1 where job_id = pg_temp.id(3);
select is(
    (select count(*) from pg_temp.found('no lease token is ahead of its sequence')), 5::bigint, 'every token is ahead of a sequence that has not begun'
);
rollback to savepoint sound;

update dotq.job_queue set job_kind = 'nobody' where job_id = pg_temp.id(8);
select results_eq(
    $$ select * from dotq.fn_queue_fsck() $$,
    $$ values ('every job has a registered kind', pg_temp.id(8)::text, 'kind nobody') $$,
    'a job of a kind that is not registered is found'
);
rollback to savepoint sound;
update dotq.dot_config set value = 'maybe' where key = 'queue.notify.enabled';
update dotq.dot_config set value = '0' where key = 'queue.lease.duration_sec';
delete from dotq.dot_config where key = 'queue.worker.enabled';
select results_eq(
    $$ select * from dotq.fn_queue_fsck() order by subject $$,
    $$ values
        ('every setting can be read', 'queue.lease.duration_sec', 'value ''0'''),
        ('every setting can be read', 'queue.notify.enabled', 'value ''maybe'''),
        ('every setting can be read', 'queue.worker.enabled', 'missing') $$,
    'settings that are out of range, unreadable or missing are found'
);
rollback to savepoint sound;

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_queue_fsck'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may call it, nobody else'
);
select is_definer('dotq', 'fn_queue_fsck', 'it runs with the rights of the owner');
select volatility_is('dotq', 'fn_queue_fsck', 'stable', 'it cannot write');

select * from finish();
rollback;
