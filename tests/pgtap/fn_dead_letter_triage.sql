begin;
select plan(21);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

insert into dotq.job_dead_letter (
    dead_letter_id, job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, cause, error_fingerprint,
    priority, max_attempts, crash_count, metadata, job_created_at
)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, ('00000000-0000-0000-0000-0000000000a' || n)::uuid, 'mail', '{}', 'boom', 5, 'test',
    'k' || n, 'test', 'exhausted', 'f', 100, 5, 0, '{}', now()
from generate_series(1, 2) as n;
create temp table before as select to_jsonb(d) as letter from dotq.job_dead_letter as d;
create function pg_temp.letter(p_key text)
returns jsonb
language sql
as $fn$
select to_jsonb(d) from dotq.job_dead_letter as d where idempotency_key = p_key
$fn$;

-- The gates do not matter: triage is paperwork.
select is(
    dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000001', 'acknowledged', 'ann', E'  looked into it\nmore tomorrow '),
    '{"ok": true, "dead_letter_id": "00000000-0000-0000-0000-000000000001", "job_id": "00000000-0000-0000-0000-0000000000a1",
      "old_status": "pending", "status": "acknowledged"}',
    'the answer has the old and the new status'
);
select is(
    pg_temp.letter('k1'),
    (select letter from before where letter ->> 'idempotency_key' = 'k1') || jsonb_build_object(
        'triage_status', 'acknowledged', 'triage_note', E'looked into it\nmore tomorrow',
        'triaged_at', timestamptz '2030-01-01 12:00:00+00', 'triaged_by', 'ann'
    ),
    'what was decided, by whom, when and why is stored, and nothing else changes'
);
select is(pg_temp.letter('k2'), (select letter from before where letter ->> 'idempotency_key' = 'k2'), 'no other dead letter is touched');

set local test.clock = '2030-01-01 13:00:00+00';
select is(
    dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000001', 'escalated', 'bob') - 'dead_letter_id' - 'job_id',
    '{"ok": true, "old_status": "acknowledged", "status": "escalated"}',
    'a decision can be changed'
);
select is(
    (
        select jsonb_build_array(triage_status, triage_note, triaged_at, triaged_by)
        from dotq.job_dead_letter where idempotency_key = 'k1'
    ),
    jsonb_build_array('escalated', E'looked into it\nmore tomorrow', timestamptz '2030-01-01 13:00:00+00', 'bob'),
    'without a note the old one stays'
);
select results_eq(
    $$ select status, dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000001', status, 'ann', 'n') ->> 'status'
       from unnest(array['pending', 'acknowledged', 'manual_replay', 'escalated', 'closed']) as status $$,
    $$ values ('pending', 'pending'), ('acknowledged', 'acknowledged'), ('manual_replay', 'manual_replay'), ('escalated', 'escalated'),
        ('closed', 'closed') $$,
    'there are five statuses, and each may follow any other'
);
select is(
    (select jsonb_build_array(triage_status, triage_note) from dotq.job_dead_letter where idempotency_key = 'k1'), '["closed", "n"]',
    'a new note replaces the old one'
);
select is_empty($$ select from dotq.job_queue $$, 'triage alone makes no job');

-- What is refused.
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000009', 'closed', 'ann') $$, 'JQ008', null,
    'a dead letter that does not exist is refused'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage(null, 'closed', 'ann') $$, '22023', 'dead_letter_id: is required', 'an id is required'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', null, 'ann') $$, '22023',
    'status: null is not a triage status', 'a status is required'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'Closed', 'ann') $$, '22023',
    'status: ''Closed'' is not a triage status', 'a status is written exactly as listed'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'closed', null) $$, '22023', 'actor: is required',
    'an actor is required'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'closed', ' ') $$, '22023', null, 'an actor must not be blank'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'closed', repeat('a', 201)) $$, '22023', null,
    'an actor has at most 200 characters'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'closed', 'ann', E' \n') $$, '22023', 'note: must not be blank',
    'a note must not be blank'
);
select is(
    pg_temp.letter('k2'), (select letter from before where letter ->> 'idempotency_key' = 'k2'), 'a refused call changes nothing'
);
select lives_ok(
    $$ select dotq.fn_dead_letter_triage('00000000-0000-0000-0000-000000000002', 'closed', repeat('a', 200), repeat('n', 10001)) $$,
    'an actor may have 200 characters, and a note any length'
);
select is(length(pg_temp.letter('k2') ->> 'triage_note'), 10000, 'a note is cut at 10000 characters');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_dead_letter_triage'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may call it, nobody else'
);
select is_definer('dotq', 'fn_dead_letter_triage', 'it runs with the rights of the owner');

select * from finish();
rollback;
