begin;
select plan(22);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('mail', '{}', 'test');
select dotq.fn_kind_set('off', '{"enabled": false}', 'test');
insert into dotq.job_dead_letter (
    dead_letter_id, job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, triage_status, cause,
    error_fingerprint, priority, max_attempts, crash_count, metadata, job_created_at
)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, ('00000000-0000-0000-0000-0000000000a' || n)::uuid, kind, '{"n": 1}', 'boom', 5, 'test',
    'k' || n, 'test', status, 'exhausted', 'f', 100, 5, 0, '{}', now()
from (
    values
        (1, 'mail', 'pending'), (2, 'mail', 'acknowledged'), (3, 'mail', 'escalated'), (4, 'mail', 'manual_replay'), (5, 'mail', 'closed'),
        (6, 'off', 'pending'), (7, 'mail', 'pending')
) as made (n, kind, status);
insert into dotq.job_queue (job_id, job_kind, idempotency_key, actor) values ('00000000-0000-0000-0000-0000000000b7', 'mail', 'k7', 'test');

-- The gates.
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000001', 'ann') $$, 'JQ001',
    'the gate queue.job_substrate.enabled is closed', 'nothing is replayed while the master gate is closed'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000001', 'ann') $$, 'JQ001',
    'the gate queue.enqueue.enabled is closed', 'nothing is replayed while no job may be enqueued'
);
select dotq.fn_config_set('queue.enqueue.enabled', 'true', 'test');

-- A replay.
create temp table answer as select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000001', 'ann') as a;
select is(
    (select a - 'job_id' from answer),
    '{"ok": true, "dead_letter_id": "00000000-0000-0000-0000-000000000001", "replay_of": "00000000-0000-0000-0000-0000000000a1"}',
    'the answer names the dead letter and the job it came from'
);
select is(
    (
        select jsonb_build_array(job_kind, state, idempotency_key, actor, payload_json, replay_of)
        from dotq.job_queue where job_id = (select (a ->> 'job_id')::uuid from answer)
    ),
    '["mail", "queued", "k1", "ann", {"n": 1}, "00000000-0000-0000-0000-0000000000a1"]',
    'the job it names waits in the queue'
);
select is(
    (
        select jsonb_build_array(triage_status, triaged_by, triaged_at, replayed_as)
        from dotq.job_dead_letter where dead_letter_id = '00000000-0000-0000-0000-000000000001'
    ),
    jsonb_build_array('manual_replay', 'ann', timestamptz '2030-01-01 12:00:00+00', (select a -> 'job_id' from answer)),
    'the dead letter points to the job'
);
select is(
    dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000002', 'ann') -> 'ok', 'true', 'an acknowledged dead letter can be replayed'
);
select is(
    dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000003', 'ann') -> 'ok', 'true', 'an escalated dead letter can be replayed'
);

-- Twice.
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000001', 'bob') $$, 'JQ010',
    'dead letter 00000000-0000-0000-0000-000000000001 is replayed already', 'a dead letter is not replayed twice by mistake'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000004', 'bob') $$, 'JQ010',
    'dead letter 00000000-0000-0000-0000-000000000004 is replayed already', 'one that was marked as replayed by hand is not replayed either'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000005', 'bob') $$, 'JQ010',
    'dead letter 00000000-0000-0000-0000-000000000005 is closed already', 'a closed dead letter is not replayed'
);
select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000005', 'acknowledged', 'bob');
select is(
    dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000005', 'bob') -> 'ok', 'true', 'it can be replayed after it was opened again'
);

-- What else is refused.
create temp table before as
select (select jsonb_agg(to_jsonb(q) order by job_id) from dotq.job_queue as q) as jobs,
    (select jsonb_agg(to_jsonb(d) order by dead_letter_id) from dotq.job_dead_letter as d) as letters;
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000006', 'ann') $$, 'JQ006', 'kind: ''off'' is disabled',
    'a disabled kind is refused'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000007', 'ann') $$, 'JQ009',
    'dead letter 00000000-0000-0000-0000-000000000007: another job has its key: 00000000-0000-0000-0000-0000000000b7',
    'an active job that has the key is named'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000009', 'ann') $$, 'JQ008', null,
    'a dead letter that does not exist is refused'
);
select throws_ok($$ select dotq.fn_dead_letter_replay(null, 'ann') $$, '22023', 'dead_letter_id: is required', 'an id is required');
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000006', null) $$, '22023', 'actor: is required', 'an actor is required'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000006', E'\t') $$, '22023', null, 'an actor must not be blank'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000006', repeat('a', 201)) $$, '22023', null,
    'an actor has at most 200 characters'
);
select results_eq(
    $$ select (select jsonb_agg(to_jsonb(q) order by job_id) from dotq.job_queue as q),
           (select jsonb_agg(to_jsonb(d) order by dead_letter_id) from dotq.job_dead_letter as d) $$,
    $$ select jobs, letters from before $$,
    'a refusal changes nothing'
);
delete from dotq.job_queue where idempotency_key = 'k7';
select is(
    dotq.fn_dead_letter_replay('00000000-0000-0000-0000-000000000007', repeat('a', 200)) -> 'ok', 'true',
    'once the key is free it can be replayed, by an actor of 200 characters'
);

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_dead_letter_replay'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may call it, nobody else'
);
select is_definer('dotq', 'fn_dead_letter_replay', 'it runs with the rights of the owner');

select * from finish();
rollback;
