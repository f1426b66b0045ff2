begin;
select plan(35);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('mail', '{}', 'test');
select dotq.fn_kind_set('sync', '{}', 'test');
select dotq.fn_kind_set('off', '{"enabled": false}', 'test');
create function pg_temp.id(p_number integer)
returns uuid
language sql
as $fn$
select ('00000000-0000-0000-0000-' || lpad(p_number::text, 12, '0'))::uuid
$fn$;
create function pg_temp.taken(p_filter jsonb, p_limit integer default 100)
returns text
language sql
as $fn$
select string_agg(right(dead_letter_id::text, 2), ' ' order by place)
from dotq.fn_dead_letter_replay_many(p_filter, 'ann', p_limit) with ordinality as r (dead_letter_id, k, e, o, j, place)
$fn$;

-- Number, minutes ago, kind, key, status, cause, fingerprint. 15 has no key of its own.
insert into dotq.job_dead_letter (
    dead_letter_id, job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_at, moved_by, triage_status, cause,
    error_fingerprint, priority, max_attempts, crash_count, metadata, job_created_at
)
select pg_temp.id(n), pg_temp.id(n + 100), kind, '{}', 'error ' || n, 5, 'test', key, timestamptz '2030-01-01 12:00:00+00' - make_interval(mins => age),
    'test', status, cause, fingerprint, 100, 5, 0, '{}', now()
from (
    values
        (20, 9, 'mail', 'twice', 'pending', 'exhausted', 'f1'),
        (19, 10, 'mail', 'k19', 'acknowledged', 'crashed', 'f1'),
        (18, 8, 'sync', 'k18', 'escalated', 'exhausted', 'f2'),
        (17, 7, 'off', 'k17', 'pending', 'exhausted', 'f2'),
        (16, 6, 'mail', 'k16', 'pending', 'moved', 'f3'),
        (15, 6, 'mail', pg_temp.id(115)::text, 'pending', 'moved', 'f3'),
        (14, 5, 'mail', 'k14', 'manual_replay', 'exhausted', 'f1'),
        (13, 4, 'mail', 'k13', 'closed', 'exhausted', 'f1'),
        (12, 3, 'mail', 'twice', 'pending', 'exhausted', 'f1'),
        (11, 2, 'sync', 'twice', 'pending', 'exhausted', 'f1'),
        (10, 1, 'off', 'k17', 'pending', 'exhausted', 'f4')
) as made (n, age, kind, key, status, cause, fingerprint);
insert into dotq.job_queue (job_id, job_kind, idempotency_key, actor) values (pg_temp.id(999), 'mail', 'k16', 'test');

-- The gates.
select throws_ok(
    $$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann') $$, 'JQ001', 'the gate queue.job_substrate.enabled is closed',
    'nothing is replayed while the master gate is closed'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select throws_ok(
    $$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann') $$, 'JQ001', 'the gate queue.enqueue.enabled is closed',
    'nothing is replayed while no job may be enqueued'
);
select dotq.fn_config_set('queue.enqueue.enabled', 'true', 'test');

-- A dry run.
create temp table before as
select (select jsonb_agg(to_jsonb(q) order by job_id) from dotq.job_queue as q) as jobs,
    (select jsonb_agg(to_jsonb(d) order by dead_letter_id) from dotq.job_dead_letter as d) as letters;
select results_eq(
    $$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann') $$,
    $$ values
        (pg_temp.id(19), 'mail', 'error 19', 'would_replay', null::uuid),
        (pg_temp.id(20), 'mail', 'error 20', 'would_replay', null),
        (pg_temp.id(18), 'sync', 'error 18', 'would_replay', null),
        (pg_temp.id(17), 'off', 'error 17', 'kind_disabled', null),
        (pg_temp.id(15), 'mail', 'error 15', 'would_replay', null),
        (pg_temp.id(16), 'mail', 'error 16', 'key_taken', pg_temp.id(999)),
        (pg_temp.id(12), 'mail', 'error 12', 'key_taken', null),
        (pg_temp.id(11), 'sync', 'error 11', 'would_replay', null),
        (pg_temp.id(10), 'off', 'error 10', 'kind_disabled', null) $$,
    'a dry run is the default: open dead letters, oldest first, with what would come of each'
);
select is(pg_temp.taken('{}', 3), '19 20 18', 'no more are taken than asked for');
select is(pg_temp.taken('{"kind": "sync"}'), '18 11', 'they can be chosen by kind');
select is(pg_temp.taken('{"fingerprint": "f2"}'), '18 17', 'they can be chosen by fingerprint');
select is(pg_temp.taken('{"cause": "moved"}'), '15 16', 'they can be chosen by cause');
select is(pg_temp.taken('{"status": "acknowledged"}'), '19', 'they can be chosen by status');
select is(pg_temp.taken('{"kind": "mail", "fingerprint": "f1", "cause": "exhausted", "status": "pending"}'), '20 12', 'the choices add up');
select is(pg_temp.taken('{"status": "closed"}'), null, 'a closed dead letter is never taken');
select is(pg_temp.taken('{"status": "manual_replay"}'), null, 'one that was replayed is never taken');
select is(pg_temp.taken('{"kind": ""}'), null, 'a kind that does not exist chooses nothing');
select is(
    (select count(*) from dotq.fn_dead_letter_replay_many('{"kind": "mail"}', 'ann', 100, null) where outcome = 'would_replay'), 3::bigint,
    'a null is no permission: it is a dry run too'
);
select results_eq(
    $$ select (select jsonb_agg(to_jsonb(q) order by job_id) from dotq.job_queue as q),
           (select jsonb_agg(to_jsonb(d) order by dead_letter_id) from dotq.job_dead_letter as d) $$,
    $$ select jobs, letters from before $$,
    'a dry run changes nothing'
);

-- The real one.
create temp table replayed as
select * from dotq.fn_dead_letter_replay_many('{}', 'ann', 100, false) with ordinality as r (dead_letter_id, job_kind, final_error, outcome, job_id, place);
select results_eq(
    $$ select r.dead_letter_id, r.job_kind, r.final_error, r.outcome from replayed as r order by place $$,
    $$ values
        (pg_temp.id(19), 'mail', 'error 19', 'replayed'), (pg_temp.id(20), 'mail', 'error 20', 'replayed'),
        (pg_temp.id(18), 'sync', 'error 18', 'replayed'), (pg_temp.id(17), 'off', 'error 17', 'kind_disabled'),
        (pg_temp.id(15), 'mail', 'error 15', 'replayed'), (pg_temp.id(16), 'mail', 'error 16', 'key_taken'),
        (pg_temp.id(12), 'mail', 'error 12', 'key_taken'), (pg_temp.id(11), 'sync', 'error 11', 'replayed'),
        (pg_temp.id(10), 'off', 'error 10', 'kind_disabled') $$,
    'the real run takes the same rows, in the same order, with the same outcomes; one that cannot be replayed does not stop the others'
);
select results_eq(
    $$ select r.dead_letter_id from replayed as r join dotq.job_queue as q on q.job_id = r.job_id and q.replay_of = pg_temp.id(right(r.dead_letter_id::text, 2)::integer + 100)
       where q.actor = 'ann' and q.state = 'queued' order by 1 $$,
    $$ select r.dead_letter_id from replayed as r where outcome = 'replayed' order by 1 $$,
    'each row that was replayed names its job, and each job whom it repeats'
);
select is(
    (select job_id from replayed where dead_letter_id = pg_temp.id(16)), pg_temp.id(999), 'a key that was taken before names the active job'
);
select is(
    (select job_id from replayed where dead_letter_id = pg_temp.id(12)), (select job_id from replayed where dead_letter_id = pg_temp.id(20)),
    'a key that was taken by a row above names that row''s job'
);
select is((select count(*) from dotq.job_queue), 6::bigint, 'no job was made for the others');
select results_eq(
    $$ select dead_letter_id, triage_status from dotq.job_dead_letter order by 1 $$,
    $$ values
        (pg_temp.id(10), 'pending'), (pg_temp.id(11), 'manual_replay'), (pg_temp.id(12), 'pending'), (pg_temp.id(13), 'closed'), (pg_temp.id(14), 'manual_replay'),
        (pg_temp.id(15), 'manual_replay'), (pg_temp.id(16), 'pending'), (pg_temp.id(17), 'pending'), (pg_temp.id(18), 'manual_replay'),
        (pg_temp.id(19), 'manual_replay'), (pg_temp.id(20), 'manual_replay') $$,
    'what was replayed is no longer open; the rest is'
);
select is_empty(
    $$ select from dotq.fn_dead_letter_replay_many('{}', 'ann', 100, false) where outcome = 'replayed' $$, 'a second run replays nothing twice'
);

-- How many by default.
insert into dotq.job_dead_letter (
    job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, cause, error_fingerprint, priority, max_attempts,
    crash_count, metadata, job_created_at
)
select gen_random_uuid(), 'sync', '{}', 'many', 5, 'test', 'many ' || n, 'test', 'exhausted', 'many', 100, 5, 0, '{}', now() from generate_series(1, 101) as n;
select is(
    (select count(*) from dotq.fn_dead_letter_replay_many('{"fingerprint": "many"}', 'ann')), 100::bigint, 'without a limit at most 100 are taken'
);
select is(
    (select count(*) from dotq.fn_dead_letter_replay_many('{"fingerprint": "many"}', repeat('a', 200), 10000)), 101::bigint, 'a limit of 10000 is taken'
);

-- What is refused.
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann', null) $$, '22023', null, 'a null limit is refused');
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann', 0) $$, '22023', null, 'a limit of 0 is refused');
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann', -1) $$, '22023', null, 'a negative limit is refused');
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('{}', 'ann', 10001) $$, '22023', null, 'a limit over 10000 is refused');
select throws_ok(
    $$ select * from dotq.fn_dead_letter_replay_many('{}', null) $$, '22023', 'actor: is required', 'an actor is required'
);
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('{}', ' ') $$, '22023', null, 'an actor must not be blank');
select throws_ok(
    $$ select * from dotq.fn_dead_letter_replay_many('{}', repeat('a', 201)) $$, '22023', null, 'an actor has at most 200 characters'
);
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many(null, 'ann') $$, '22023', null, 'a filter is required');
select throws_ok($$ select * from dotq.fn_dead_letter_replay_many('[]', 'ann') $$, '22023', null, 'a filter is an object');
select throws_ok(
    $$ select * from dotq.fn_dead_letter_replay_many('{"knd": "mail"}', 'ann') $$, '22023', null,
    'a filter with a misspelt name is refused, not taken for "all"'
);

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_dead_letter_replay_many'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may call it, nobody else'
);
select is_definer('dotq', 'fn_dead_letter_replay_many', 'it runs with the rights of the owner');

select * from finish();
rollback;
