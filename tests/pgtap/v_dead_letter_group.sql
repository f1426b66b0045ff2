begin;
select plan(3);

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

select results_eq(
    $$ select * from dotq.v_dead_letter_group $$,
    $$ values
        ('sync', 'f1', 2::bigint, 2::bigint, timestamptz '2030-01-01 11:58:00+00', timestamptz '2030-01-01 11:59:00+00',
            uuid '00000000-0000-0000-0000-0000000000a5', 'fifth'),
        ('mail', 'f1', 3, 2, '2030-01-01 11:30:00+00', '2030-01-01 11:55:00+00', '00000000-0000-0000-0000-0000000000a4', 'fourth'),
        ('mail', 'f2', 1, 1, '2030-01-01 11:40:00+00', '2030-01-01 11:40:00+00', '00000000-0000-0000-0000-0000000000a3', 'third'),
        ('mail', 'f3', 1, 0, '2030-01-01 11:57:00+00', '2030-01-01 11:57:00+00', '00000000-0000-0000-0000-0000000000a7', 'seventh') $$,
    'one row per kind and fingerprint, most open dead letters first, then newest, each with its newest error as a sample'
);
select columns_are(
    'dotq', 'v_dead_letter_group',
    array['job_kind', 'error_fingerprint', 'row_count', 'open_count', 'first_moved_at', 'last_moved_at', 'sample_id', 'sample_error'],
    'the columns are named as documented'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_dead_letter_group', 'select')
    ),
    array['dotq_operator'],
    'operators may read it, nobody else'
);

select * from finish();
rollback;
