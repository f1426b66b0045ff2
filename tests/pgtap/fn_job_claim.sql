begin;
select plan(22);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_claim'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may claim, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_claim'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

select is(
    dotq.fn_job_claim('w1'),
    '{"ok": true, "job": null, "reason": "no_kind: none of the allowed kinds is registered, enabled and not paused"}',
    'in a new queue a claim says that there is no kind'
);

select dotq.fn_job_enqueue('mail', 'ann', 'later', p_scheduled_at => '2030-01-01 12:00:01+00');
select is(
    dotq.fn_job_claim('w1'),
    '{"ok": true, "job": null, "reason": "empty: no job is due"}',
    'a claim that finds nothing due says so'
);
select is(
    dotq.fn_job_claim('w1', p_allowed_kinds => array['other']) ->> 'reason',
    'no_kind: none of the allowed kinds is registered, enabled and not paused',
    'a claim of kinds that are not registered says so'
);
select dotq.fn_kind_pause('mail', 'ann', p_until => '2030-01-01 12:00:00.000001+00');
select is(
    dotq.fn_job_claim('w1') ->> 'reason',
    'no_kind: none of the allowed kinds is registered, enabled and not paused',
    'a claim while every kind is paused says so'
);
set local test.clock = '2030-01-01 12:00:00.000001+00';
select is(dotq.fn_job_claim('w1') ->> 'reason', 'empty: no job is due', 'a pause that is over at this moment is over');
select dotq.fn_kind_resume('mail', 'ann');

set local test.clock = '2030-01-01 12:00:10+00';
select dotq.fn_job_enqueue(
    'mail', 'ann', 'urgent', '{"n": 7}', 'from', 'to', 'blob', 3, null, 4, '00000000-0000-4000-8000-000000000001'
);
create temp table claimed as select dotq.fn_job_claim('w1', 90, array['mail', 'other']) as answer;
select is(
    (select answer - 'job' from claimed), '{"ok": true, "reason": null}', 'a claim that found a job gives no reason'
);
select is(
    (select answer -> 'job' from claimed),
    jsonb_build_object('job_id', pg_temp.id('urgent'), 'lease', pg_temp.lease('urgent')) || '{
        "job_kind": "mail", "attempts": 1, "max_attempts": 4, "payload_json": {"n": 7}, "lease_until": "2030-01-01T12:01:40+00:00",
        "priority": 3, "scheduled_at": "2030-01-01T12:00:10+00:00", "created_at": "2030-01-01T12:00:10+00:00",
        "idempotency_key": "urgent", "actor": "ann", "source_ref": "from", "target_ref": "to", "payload_ref": "blob",
        "run_id": "00000000-0000-4000-8000-000000000001", "workflow_id": null, "replay_of": null, "affinity_key": null,
        "metadata": {}, "progress": null, "checkpoint": null, "crash_count": 0, "last_error": null
    }',
    'the most urgent job is claimed, with its payload, its lease handle and the end of the lease'
);
select is(pg_temp.job('later') ->> 'state', 'queued', 'one claim takes one job');
select is(dotq.fn_job_claim('w1') #>> '{job,idempotency_key}', 'later', 'the next claim takes the next one');
select is(
    (pg_temp.job('later') ->> 'lease_until')::timestamptz, '2030-01-01 12:05:10+00'::timestamptz, 'without a length the lease is 300 seconds long'
);

-- Closed gates.
select dotq.fn_job_enqueue('mail', 'ann', 'gated');
select pg_temp.remember('gated');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(
    dotq.fn_job_claim('w1'), '{"ok": true, "job": null, "reason": "gate_closed: queue.claim.enabled"}', 'a closed claim gate is named'
);
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(
    dotq.fn_job_claim('w1'), '{"ok": true, "job": null, "reason": "gate_closed: queue.job_substrate.enabled"}', 'a closed master gate is named first'
);
select is(pg_temp.job('gated'), pg_temp.was('gated'), 'nothing is claimed through a closed gate');
select throws_ok($$select dotq.fn_job_claim(' ')$$, '22023', 'worker_id: must not be blank', 'bad arguments are refused even then');
select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');

-- Arguments.
select throws_ok($$select dotq.fn_job_claim(null)$$, '22023', 'worker_id: is required', 'the worker id is required');
select throws_ok($$select dotq.fn_job_claim('w#1')$$, '22023', 'worker_id: must not contain #', 'a worker id cannot contain #');
select throws_ok($$select dotq.fn_job_claim('w1', 0)$$, '22023', 'lease_seconds: 0 is out of range', 'a lease of no time is refused');
select throws_ok($$select dotq.fn_job_claim('w1', null, '{}')$$, '22023', 'allowed_kinds: names 0 entries', 'an empty list of kinds is refused');
select is(pg_temp.job('gated'), pg_temp.was('gated'), 'a refused claim takes nothing');

set local role dotq_worker;
select is(dotq.fn_job_claim('w1') #>> '{job,idempotency_key}', 'gated', 'a worker can claim without rights on the tables');
reset role;

select * from finish();
rollback;
