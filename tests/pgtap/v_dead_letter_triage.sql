begin;
select plan(4);

select dotq.fn_kind_set('mail', '{"owner_agent": "postman"}', 'test');

-- Kind, status, fingerprint, minutes ago, attempts, error.
insert into dotq.job_dead_letter (
    dead_letter_id, job_id, job_kind, source_ref, target_ref, payload_ref, payload_json, final_error, attempts, actor, run_id, idempotency_key,
    moved_at, moved_by, triage_status, triage_note, triaged_at, triaged_by, cause, error_fingerprint, priority, max_attempts, crash_count, metadata,
    workflow_id, job_created_at, replayed_as
)
select ('00000000-0000-0000-0000-0000000000a' || n)::uuid, ('00000000-0000-0000-0000-0000000000b' || n)::uuid, kind, 'source', 'target', 'ref',
    '{"to": "x"}', error, attempts, 'producer', '00000000-0000-0000-0000-000000000f01', 'k' || n,
    timestamptz '2030-01-01 12:00:00+00' - make_interval(mins => age), 'w1', status, 'a note', '2030-01-01 12:00:00+00', 'ann', 'crashed', fingerprint,
    7, 9, 2, '{}', '00000000-0000-0000-0000-000000000f02', '2030-01-01 10:00:00+00', '00000000-0000-0000-0000-000000000f03'
from (
    values
        (1, 'mail', 'pending', 'f1', 10, 3, 'first'), (2, 'mail', 'pending', 'f1', 30, 5, 'second'), (3, 'mail', 'pending', 'f2', 20, 1, 'third'),
        (4, 'mail', 'closed', 'f1', 5, 2, 'fourth'), (5, 'sync', 'acknowledged', 'f1', 1, 4, 'fifth'), (6, 'sync', 'escalated', 'f1', 2, 4, 'sixth'),
        (7, 'mail', 'manual_replay', 'f3', 3, 4, 'seventh')
) as made (n, kind, status, fingerprint, age, attempts, error);

select is(
    (select to_jsonb(t) from dotq.v_dead_letter_triage as t where error_message = 'first'),
    jsonb_build_object(
        'dead_letter_id', '00000000-0000-0000-0000-0000000000a1', 'job_id', '00000000-0000-0000-0000-0000000000b1', 'task_type', 'mail',
        'agent_name', 'postman', 'triage_status', 'pending', 'cause', 'crashed', 'error_message', 'first', 'error_fingerprint', 'f1',
        'payload', '{"to": "x"}'::jsonb, 'payload_ref', 'ref', 'source_ref', 'source', 'target_ref', 'target', 'attempts', 3, 'max_attempts', 9,
        'crash_count', 2, 'idempotency_key', 'k1', 'actor', 'producer', 'run_id', '00000000-0000-0000-0000-000000000f01',
        'workflow_id', '00000000-0000-0000-0000-000000000f02', 'job_created_at', timestamptz '2030-01-01 10:00:00+00',
        'moved_at', timestamptz '2030-01-01 11:50:00+00', 'moved_by', 'w1', 'triage_note', 'a note',
        'triaged_at', timestamptz '2030-01-01 12:00:00+00', 'triaged_by', 'ann', 'replayed_as', '00000000-0000-0000-0000-000000000f03'
    ),
    'a dead letter shows all that triage needs'
);
select results_eq(
    $$ select error_message from dotq.v_dead_letter_triage $$, array['fifth', 'sixth', 'seventh', 'fourth', 'first', 'third', 'second'],
    'every dead letter is there, whatever was decided, newest first'
);
select is(
    (select agent_name from dotq.v_dead_letter_triage where error_message = 'fifth'), null, 'a kind that is not registered has no agent, and its dead letters show all the same'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_dead_letter_triage', 'select')
    ),
    array['dotq_operator'],
    'operators may read it, nobody else'
);

select * from finish();
rollback;
