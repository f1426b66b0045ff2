begin;
select plan(6);

insert into dotq.job_dead_letter (
    dead_letter_id, job_id, job_kind, payload_json, final_error, attempts, actor, idempotency_key, moved_by, cause, error_fingerprint,
    priority, max_attempts, crash_count, metadata, job_created_at
)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, gen_random_uuid(), 'mail', '{"n": 1}', 'boom', 5, 'test', 'k' || n, 'test', 'exhausted',
    'f', 100, 5, 0, '{}', now()
from generate_series(1, 2) as n;

select is(
    to_jsonb(dotq.fn_dead_letter_lock('00000000-0000-0000-0000-000000000002')),
    (select to_jsonb(d) from dotq.job_dead_letter as d where idempotency_key = 'k2'),
    'the whole dead letter is returned'
);
select results_eq(
    $$ select idempotency_key from dotq.job_dead_letter where xmax::text = pg_current_xact_id()::xid::text $$, array['k2'],
    'it is locked, and no other'
);
select throws_ok(
    $$ select dotq.fn_dead_letter_lock('00000000-0000-0000-0000-000000000003') $$, 'JQ008',
    'dead letter 00000000-0000-0000-0000-000000000003 does not exist', 'a dead letter that does not exist is refused'
);
select throws_ok($$ select dotq.fn_dead_letter_lock(null) $$, '22023', 'dead_letter_id: is required', 'an id is required');

-- A helper, closed to everybody.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_dead_letter_lock'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_dead_letter_lock', 'it runs with the rights of its caller');

select * from finish();
rollback;
