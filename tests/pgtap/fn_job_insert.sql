begin;
select plan(20);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.add(p_kind text, p_key text, p_payload jsonb default '{}', p_priority integer default null, p_max_attempts integer default null)
returns jsonb
language sql
as $fn$
select dotq.fn_job_insert(k, 'ann', p_key, p_payload, null, null, null, p_priority, null, p_max_attempts, null)
from dotq.job_kind as k
where k.job_kind = p_kind
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_insert'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_insert'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select dotq.fn_kind_set('mail', '{"default_priority": 7}', 'ann');
select dotq.fn_kind_set('report', '{"max_attempts": 3}', 'ann');
select dotq.fn_kind_set('kept', '{"dedupe": "retained"}', 'ann');
select is(
    (
        select dotq.fn_job_insert(
            k, 'bob', 'rich', '{"n": 7}', 'from', 'to', 'blob', 3, '2030-01-01 12:00:00.000001+00', 4,
            '00000000-0000-4000-8000-000000000001', '{"tag": "x"}', 'room', '00000000-0000-4000-8000-000000000002',
            '00000000-0000-4000-8000-000000000003'
        )
        from dotq.job_kind as k
        where k.job_kind = 'mail'
    ),
    jsonb_build_object('ok', true, 'job_id', pg_temp.id('rich'), 'state', 'queued', 'duplicate', false),
    'the answer has the id of the new job'
);
select is(
    pg_temp.job('rich') - 'job_id',
    '{
        "job_kind": "mail", "state": "queued", "source_ref": "from", "target_ref": "to", "payload_ref": "blob", "payload_json": {"n": 7},
        "priority": 3, "scheduled_at": "2030-01-01T12:00:00.000001+00:00", "picked_at": null, "finished_at": null, "lease_owner": null,
        "lease_until": null, "attempts": 0, "max_attempts": 4, "idempotency_key": "rich", "actor": "bob",
        "run_id": "00000000-0000-4000-8000-000000000001", "last_error": null,
        "created_at": "2030-01-01T12:00:00+00:00", "updated_at": "2030-01-01T12:00:00+00:00", "lease_token": null,
        "lease_seconds": null, "started_at": null, "crash_count": 0, "cancel_requested_at": null, "cancel_requested_by": null,
        "progress": null, "checkpoint": null, "result": null, "metadata": {"tag": "x"}, "affinity_key": "room",
        "workflow_id": "00000000-0000-4000-8000-000000000002", "replay_of": "00000000-0000-4000-8000-000000000003", "key_retained": false
    }',
    'every argument arrives where it belongs'
);

-- Defaults.
create temp table plain as select pg_temp.add('mail', null, null) ->> 'job_id' as job_id;
select is(
    (
        select jsonb_build_array(q.idempotency_key = q.job_id::text, q.payload_json, q.priority, q.max_attempts, q.scheduled_at, q.metadata, q.key_retained)
        from dotq.job_queue as q join plain on plain.job_id = q.job_id::text
    ),
    '[true, {}, 7, 5, "2030-01-01T12:00:00+00:00", {}, false]',
    'without a key the job''s own id is its key; priority comes from the kind, attempts from the setting, and it is due now'
);
select pg_temp.add('report', 'r1');
select is(
    jsonb_build_array(pg_temp.job('r1') -> 'priority', pg_temp.job('r1') -> 'max_attempts'), '[100, 3]', 'attempts come from the kind before the setting'
);
select pg_temp.add('report', 'r2', p_priority => 0, p_max_attempts => 1);
select is(
    jsonb_build_array(pg_temp.job('r2') -> 'priority', pg_temp.job('r2') -> 'max_attempts'), '[0, 1]', 'the caller''s numbers come before the kind''s'
);
select is(
    (
        select dotq.fn_job_insert(k, 'ann', 'past', '{}', null, null, null, null, '2030-01-01 11:59:59.999999+00', null, null) ->> 'state'
        from dotq.job_kind as k
        where k.job_kind = 'mail'
    ),
    'queued',
    'a time in the past is accepted'
);
select is(pg_temp.job('past') ->> 'scheduled_at', '2030-01-01T12:00:00+00:00', 'and means now');

-- Keys of active jobs.
select pg_temp.remember('r1');
select is(
    pg_temp.add('report', 'r1', '{"other": 1}', 1, 1), jsonb_build_object('ok', true, 'job_id', pg_temp.id('r1'), 'state', 'queued', 'duplicate', true),
    'the job that has the key is returned'
);
select is(pg_temp.job('r1'), pg_temp.was('r1'), 'and stays as it was');
select is(pg_temp.add('mail', 'r1') -> 'duplicate', 'false', 'the same key of another kind is free');
select isnt(pg_temp.add('mail', null) ->> 'job_id', (select job_id from plain), 'jobs without a key are never duplicates');

-- Keys of finished jobs.
select is(pg_temp.add('kept', null) -> 'duplicate', 'false', 'a kind that retains keys takes jobs without one');
select is((select key_retained from dotq.job_queue where job_kind = 'kept'), false, 'whose id is no key to retain');
select dotq.fn_job_cancel((select job_id from dotq.job_queue where job_kind = 'kept'), 'ann');
create temp table first_kept as select (pg_temp.add('kept', 'k') ->> 'job_id')::uuid as job_id;
select is((select key_retained from dotq.job_queue join first_kept using (job_id)), true, 'a kind that retains keys marks the jobs that have one');
select dotq.fn_job_claim('w1', 60, array['kept']);
select dotq.fn_job_ack(job_id, 'w1') from first_kept;
select is(
    pg_temp.add('kept', 'k'), (select jsonb_build_object('ok', true, 'job_id', job_id, 'state', 'succeeded', 'duplicate', true) from first_kept),
    'the key of a finished job is taken while that job is kept'
);
select dotq.fn_kind_set('kept', '{"dedupe": "active"}', 'ann');
create temp table second_kept as select (pg_temp.add('kept', 'k') ->> 'job_id')::uuid as job_id;
select isnt((select job_id from second_kept), (select job_id from first_kept), 'when the kind retains keys no longer, the key is free');
select is(
    pg_temp.add('kept', 'k'), (select jsonb_build_object('ok', true, 'job_id', job_id, 'state', 'queued', 'duplicate', true) from second_kept),
    'and a duplicate is the active job, not the finished one'
);

-- A key that is taken whenever the job is inserted and free whenever it is looked up.
create or replace function dotq.fn_job_by_key(p_job_kind text, p_idempotency_key text, p_except uuid default null)
returns table (job_id uuid, state text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $fn$
select null::uuid, null::text where false
$fn$;
select throws_ok(
    $$select pg_temp.add('kept', 'k')$$,
    '40001', 'idempotency_key: ''k'' was taken and freed a hundred times while this call looked on', 'the search for a job that is never there ends, with an error that may be retried'
);

select * from finish();
rollback;
