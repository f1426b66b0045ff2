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
    $$ select * from dotq.v_job_dead_letter_summary $$,
    $$ values
        ('mail', 'closed', 1::bigint, 1::bigint, timestamptz '2030-01-01 11:55:00+00', timestamptz '2030-01-01 11:55:00+00', 2),
        ('mail', 'manual_replay', 1, 1, '2030-01-01 11:57:00+00', '2030-01-01 11:57:00+00', 4),
        ('mail', 'pending', 3, 2, '2030-01-01 11:30:00+00', '2030-01-01 11:50:00+00', 5),
        ('sync', 'acknowledged', 1, 1, '2030-01-01 11:59:00+00', '2030-01-01 11:59:00+00', 4),
        ('sync', 'escalated', 1, 1, '2030-01-01 11:58:00+00', '2030-01-01 11:58:00+00', 4) $$,
    'one row per kind and status, in that order: how many, how many different errors, oldest and newest, most attempts'
);
select columns_are(
    'dotq', 'v_job_dead_letter_summary',
    array['job_kind', 'triage_status', 'row_count', 'distinct_errors', 'oldest_moved_at', 'newest_moved_at', 'max_attempts'],
    'the columns are named as documented'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_job_dead_letter_summary', 'select')
    ),
    array['dotq_operator', 'dotq_reader'],
    'operators and readers may read it, nobody else'
);

select * from finish();
rollback;
