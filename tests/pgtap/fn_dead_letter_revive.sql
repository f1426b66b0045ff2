begin;
select plan(18);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('mail', '{"default_priority": 77, "max_attempts": 9}', 'test');
select dotq.fn_kind_set('kept', '{"dedupe": "retained"}', 'test');
select dotq.fn_kind_set('off', '{"enabled": false}', 'test');

create function pg_temp.revive(p_name text, p_actor text default 'ann')
returns jsonb
language sql
as $fn$
select dotq.fn_dead_letter_revive(d, p_actor) from dotq.job_dead_letter as d where d.final_error = p_name
$fn$;

-- The jobs that died, and their dead letters.
insert into dotq.job_queue (job_id, job_kind, state, idempotency_key, actor, attempts, key_retained, finished_at)
select ('00000000-0000-0000-0000-0000000000' || id)::uuid, kind, 'dead_letter', key, 'test', 5, retained, '2030-01-01 11:00:00+00'
from (
    values
        ('a1', 'mail', 'full', false), ('a2', 'mail', '00000000-0000-0000-0000-0000000000a2', false), ('a3', 'mail', 'taken', false),
        ('a4', 'kept', 'retained', true), ('a5', 'kept', 'retained and taken', true), ('a6', 'off', 'off', false), ('a7', 'nobody', 'nobody', false),
        ('a8', 'mail', 'closed', false), ('a9', 'mail', 'replayed', false)
) as made (id, kind, key, retained);
insert into dotq.job_dead_letter (
    job_id, job_kind, source_ref, target_ref, payload_ref, payload_json, final_error, attempts, actor, run_id, idempotency_key, moved_at, moved_by,
    triage_status, triage_note, cause, error_fingerprint, priority, max_attempts, crash_count, metadata, affinity_key, workflow_id, job_created_at,
    replayed_as
)
select q.job_id, q.job_kind, 'source', 'target', 'ref', '{"to": "x"}', case q.idempotency_key when q.job_id::text then 'no key' else q.idempotency_key end,
    5, 'test', '00000000-0000-0000-0000-000000000f01', q.idempotency_key, '2030-01-01 11:00:00+00', 'test',
    case q.idempotency_key when 'closed' then 'closed' when 'replayed' then 'manual_replay' else 'escalated' end, 'a note',
    'exhausted', 'f', 5, 4, 2, '{"tag": 1}', 'eu', '00000000-0000-0000-0000-000000000f02', '2030-01-01 10:00:00+00',
    case q.idempotency_key when 'replayed' then uuid '00000000-0000-0000-0000-000000000f03' end
from dotq.job_queue as q;
insert into dotq.job_queue (job_id, job_kind, idempotency_key, actor)
values ('00000000-0000-0000-0000-0000000000b1', 'mail', 'taken', 'test'), ('00000000-0000-0000-0000-0000000000b2', 'kept', 'retained and taken', 'test');
create temp table letter_before as select to_jsonb(d) as letter from dotq.job_dead_letter as d;
create temp table job_before as select to_jsonb(q) as job from dotq.job_queue as q;

-- A new job.
create temp table answer as select pg_temp.revive('full') as a;
select is((select a - 'job_id' from answer), '{"ok": true, "outcome": "replayed"}', 'a dead letter that is open is replayed');
select is(
    (select to_jsonb(q) from dotq.job_queue as q where job_id = (select (a ->> 'job_id')::uuid from answer)),
    jsonb_build_object(
        'job_id', (select a ->> 'job_id' from answer), 'job_kind', 'mail', 'state', 'queued', 'source_ref', 'source', 'target_ref', 'target',
        'payload_ref', 'ref', 'payload_json', '{"to": "x"}'::jsonb, 'priority', 5, 'scheduled_at', timestamptz '2030-01-01 12:00:00+00',
        'picked_at', null, 'finished_at', null, 'lease_owner', null, 'lease_until', null, 'attempts', 0, 'max_attempts', 4,
        'idempotency_key', 'full', 'actor', 'ann', 'run_id', '00000000-0000-0000-0000-000000000f01', 'last_error', null,
        'created_at', timestamptz '2030-01-01 12:00:00+00', 'updated_at', timestamptz '2030-01-01 12:00:00+00',
        'lease_token', null, 'lease_seconds', null, 'started_at', null, 'crash_count', 0, 'cancel_requested_at', null
    ) || jsonb_build_object(
        'cancel_requested_by', null, 'progress', null, 'checkpoint', null, 'result', null, 'metadata', '{"tag": 1}'::jsonb, 'affinity_key', 'eu',
        'workflow_id', '00000000-0000-0000-0000-000000000f02', 'replay_of', '00000000-0000-0000-0000-0000000000a1', 'key_retained', false
    ),
    'the new job has everything the old one was given, all its attempts, and says whom it repeats'
);
select is(
    (select to_jsonb(d) from dotq.job_dead_letter as d where final_error = 'full'),
    (select letter from letter_before where letter ->> 'final_error' = 'full') || jsonb_build_object(
        'triage_status', 'manual_replay', 'triaged_at', timestamptz '2030-01-01 12:00:00+00', 'triaged_by', 'ann',
        'replayed_as', (select a -> 'job_id' from answer)
    ),
    'the dead letter keeps its history and points to the new job'
);
select bag_eq(
    $$ select to_jsonb(q) from dotq.job_queue as q where replay_of is null $$, $$ select job from job_before $$,
    'the job that died, and every other, stays as it is'
);
create temp table keyless as select (pg_temp.revive('no key') ->> 'job_id')::uuid as job_id;
select is(
    (select job_id from keyless),
    (select job_id from dotq.job_queue where replay_of = '00000000-0000-0000-0000-0000000000a2' and idempotency_key = job_id::text),
    'a job that had no key gets none: its own id stands for it'
);

-- The key.
select is(
    pg_temp.revive('taken'), '{"ok": false, "outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000b1"}',
    'an active job that has the key stands in the way, and is named'
);
select is(pg_temp.revive('retained') ->> 'outcome', 'replayed', 'the retained key of a finished job does not hold against its own replay');
select is(
    (select array_agg(key_retained order by state) from dotq.job_queue where idempotency_key = 'retained'), array[false, true],
    'the retained key passes to the new job'
);
select is(
    pg_temp.revive('retained and taken'), '{"ok": false, "outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000b2"}',
    'an active job that has the key of a retained one stands in the way too'
);
select is(
    (select array_agg(key_retained order by state) from dotq.job_queue where idempotency_key = 'retained and taken'), array[true, false],
    'a replay that did not happen leaves the retained key where it was'
);

-- What stands in the way besides.
select is(
    pg_temp.revive('off'), '{"ok": false, "outcome": "kind_disabled", "job_id": null}', 'a disabled kind is not replayed'
);
select is(
    pg_temp.revive('nobody'), '{"ok": false, "outcome": "kind_disabled", "job_id": null}', 'a kind that is not registered is not replayed'
);
select is(
    pg_temp.revive('closed'), '{"ok": false, "outcome": "closed", "job_id": null}', 'a closed dead letter is not replayed'
);
select is(
    pg_temp.revive('replayed'), '{"ok": false, "outcome": "manual_replay", "job_id": "00000000-0000-0000-0000-000000000f03"}',
    'a dead letter that was replayed names its job and is not replayed again'
);
select bag_eq(
    $$ select to_jsonb(d) from dotq.job_dead_letter as d where final_error not in ('full', 'no key', 'retained') $$,
    $$ select letter from letter_before where letter ->> 'final_error' not in ('full', 'no key', 'retained') $$,
    'what was not replayed stays open as it was'
);
select is((select count(*) from dotq.job_queue), (select count(*) + 3 from job_before), 'what was not replayed made no job');

-- A helper, closed to everybody.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_dead_letter_revive'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_dead_letter_revive', 'it runs with the rights of its caller');

select * from finish();
rollback;
