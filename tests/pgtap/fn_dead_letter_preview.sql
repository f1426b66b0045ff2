begin;
select plan(13);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('mail', '{}', 'test');
select dotq.fn_kind_set('other', '{}', 'test');
select dotq.fn_kind_set('off', '{"enabled": false}', 'test');
create function pg_temp.letter(p_key text, p_kind text default 'mail', p_job_id uuid default '00000000-0000-0000-0000-00000000000d')
returns dotq.job_dead_letter
language sql
as $fn$
select jsonb_populate_record(null::dotq.job_dead_letter, jsonb_build_object('job_kind', p_kind, 'idempotency_key', p_key, 'job_id', p_job_id))
$fn$;

insert into dotq.job_queue (job_id, job_kind, state, idempotency_key, actor, key_retained, finished_at, lease_owner, lease_until)
select ('00000000-0000-0000-0000-0000000000' || id)::uuid, 'mail', state, key, 'test', retained,
    case when state in ('succeeded', 'dead_letter') then now() end, case when state in ('leased', 'in_progress') then 'w1' end,
    case when state in ('leased', 'in_progress') then now() end
from (
    values
        ('a1', 'queued', 'waits', false), ('a2', 'leased', 'is leased', false), ('a3', 'in_progress', 'runs', false),
        ('a4', 'retry_waiting', 'waits again', false), ('a5', 'succeeded', 'has ended', false), ('a6', 'succeeded', 'is retained', true),
        ('0d', 'dead_letter', 'its own', true), ('a7', 'queued', '00000000-0000-0000-0000-0000000000e1', false)
) as made (id, state, key, retained);
create temp table before as select to_jsonb(q) as job from dotq.job_queue as q;

select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('free')), '{"outcome": "would_replay", "job_id": null}', 'a dead letter whose key is free would be replayed'
);
select results_eq(
    $$ select key, dotq.fn_dead_letter_preview(pg_temp.letter(key)) from unnest(array['waits', 'is leased', 'runs', 'waits again']) as key $$,
    $$ values
        ('waits', '{"outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000a1"}'::jsonb),
        ('is leased', '{"outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000a2"}'),
        ('runs', '{"outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000a3"}'),
        ('waits again', '{"outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000a4"}') $$,
    'an active job that has the key stands in the way, and is named'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('has ended')) ->> 'outcome', 'would_replay', 'a job that has ended does not hold its key'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('is retained')), '{"outcome": "key_taken", "job_id": "00000000-0000-0000-0000-0000000000a6"}',
    'a job that has ended holds its key when it is retained'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('its own')) ->> 'outcome', 'would_replay', 'the job of the dead letter itself does not stand in the way'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('waits', 'other')) ->> 'outcome', 'would_replay', 'a job of another kind does not stand in the way'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('00000000-0000-0000-0000-0000000000e1', 'mail', '00000000-0000-0000-0000-0000000000e1')) ->> 'outcome',
    'would_replay',
    'a job that was enqueued without a key has none that could be taken'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('free', 'off')), '{"outcome": "kind_disabled", "job_id": null}', 'a disabled kind is not replayed'
);
select is(
    dotq.fn_dead_letter_preview(pg_temp.letter('free', 'nobody')), '{"outcome": "kind_disabled", "job_id": null}',
    'a kind that is not registered is not replayed'
);
select bag_eq($$ select to_jsonb(q) from dotq.job_queue as q $$, $$ select job from before $$, 'looking changes nothing');

-- A helper, closed to everybody.
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_dead_letter_preview'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_dead_letter_preview', 'it runs with the rights of its caller');
select volatility_is('dotq', 'fn_dead_letter_preview', 'stable', 'it cannot write');

select * from finish();
rollback;
