begin;
select plan(62);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.answer(p_key text, p_state text, p_duplicate boolean)
returns jsonb
language sql
as $fn$
select jsonb_build_object('ok', true, 'job_id', pg_temp.id(p_key), 'state', p_state, 'duplicate', p_duplicate)
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_enqueue'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_operator'],
    'producers and operators may enqueue, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_enqueue'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);

-- The least and the most.
create temp table least as select dotq.fn_job_enqueue('mail', 'ann') as answer;
select is(
    (select answer - 'job_id' from least), '{"ok": true, "state": "queued", "duplicate": false}', 'a kind and an actor are enough for a job'
);
select is(
    (select to_jsonb(q) from dotq.job_queue as q),
    (select jsonb_build_object('job_id', answer -> 'job_id', 'idempotency_key', answer -> 'job_id') from least) || '{
        "job_kind": "mail", "state": "queued", "source_ref": null, "target_ref": null, "payload_ref": null, "payload_json": {},
        "priority": 100, "scheduled_at": "2030-01-01T12:00:00+00:00", "picked_at": null, "finished_at": null, "lease_owner": null,
        "lease_until": null, "attempts": 0, "max_attempts": 5, "actor": "ann", "run_id": null, "last_error": null,
        "created_at": "2030-01-01T12:00:00+00:00", "updated_at": "2030-01-01T12:00:00+00:00", "lease_token": null,
        "lease_seconds": null, "started_at": null, "crash_count": 0, "cancel_requested_at": null, "cancel_requested_by": null,
        "progress": null, "checkpoint": null, "result": null, "metadata": {}, "affinity_key": null, "workflow_id": null,
        "replay_of": null, "key_retained": false
    }',
    'it is due now, at priority 100, with five attempts and its own id as key'
);
select is(
    dotq.fn_job_enqueue(
        'mail', 'bob', 'most', '{"n": 7}', 'from', 'to', 'blob', 3, '2030-01-01 12:00:00.000001+00', 4, '00000000-0000-4000-8000-000000000001'
    ),
    pg_temp.answer('most', 'queued', false),
    'the answer has the id of the new job'
);
select is(
    pg_temp.job('most'),
    (select to_jsonb(q) from dotq.job_queue as q, least where q.job_id::text = answer ->> 'job_id')
        || jsonb_build_object('job_id', pg_temp.id('most')) || '{
        "idempotency_key": "most", "actor": "bob", "payload_json": {"n": 7}, "source_ref": "from", "target_ref": "to",
        "payload_ref": "blob", "priority": 3, "scheduled_at": "2030-01-01T12:00:00.000001+00:00", "max_attempts": 4,
        "run_id": "00000000-0000-4000-8000-000000000001"
    }',
    'all eleven arguments arrive where they belong'
);
select is(
    (select answer ->> 'duplicate' from (select dotq.fn_job_enqueue('mail', 'ann') as answer) as again), 'false', 'jobs without a key are never duplicates'
);
select isnt(
    (dotq.fn_job_enqueue('mail', 'ann') ->> 'job_id'), (select answer ->> 'job_id' from least), 'each of them is a job of its own'
);
select is(
    (select array_agg(distinct substr(job_id::text, 15, 1)) from dotq.job_queue), array['7'], 'ids are version 7 uuids'
);

-- Times and numbers.
select dotq.fn_job_enqueue('mail', 'ann', 'past', p_scheduled_at => '2030-01-01 11:59:59.999999+00', p_priority => 0, p_max_attempts => 1);
select is(
    jsonb_build_array(pg_temp.job('past') -> 'scheduled_at', pg_temp.job('past') -> 'priority', pg_temp.job('past') -> 'max_attempts'),
    '["2030-01-01T12:00:00+00:00", 0, 1]',
    'a time in the past means now; priority 0 and a single attempt are taken as given'
);
select dotq.fn_kind_set('batch', '{"default_priority": 200, "max_attempts": 2}', 'ann');
select dotq.fn_job_enqueue('batch', 'ann', 'kind');
select is(
    jsonb_build_array(pg_temp.job('kind') -> 'priority', pg_temp.job('kind') -> 'max_attempts'), '[200, 2]', 'a kind has its own defaults'
);
select dotq.fn_config_set('queue.retry.max_attempts_default', '9', 'test');
select dotq.fn_job_enqueue('mail', 'ann', 'nine');
select is(pg_temp.job('nine') -> 'max_attempts', '9', 'queue.retry.max_attempts_default counts when nobody else says');
select dotq.fn_job_enqueue('mail', 'ann', 'nothing', null);
select is(pg_temp.job('nothing') -> 'payload_json', '{}', 'no payload is an empty payload');

-- Duplicates.
select pg_temp.waiting('dup');
create temp table jobs_before as select count(*) as jobs from dotq.job_queue;
select is(
    dotq.fn_job_enqueue('dup', 'bob', 'dup', '{"other": 1}', p_priority => 1), pg_temp.answer('dup', 'queued', true), 'the key of a queued job is taken: the same job is returned'
);
select is(pg_temp.job('dup'), pg_temp.was('dup'), 'the job that was there stays as it was');
select is((select count(*) from dotq.job_queue), (select jobs from jobs_before), 'and none is added');
select dotq.fn_job_claim('w1', 60, array['dup']);
select is(dotq.fn_job_enqueue('dup', 'bob', 'dup'), pg_temp.answer('dup', 'leased', true), 'the key of a leased job is taken');
select dotq.fn_job_start(pg_temp.id('dup'), 'w1');
select is(dotq.fn_job_enqueue('dup', 'bob', 'dup'), pg_temp.answer('dup', 'in_progress', true), 'the key of a job in progress is taken');
select dotq.fn_job_fail_or_retry(pg_temp.id('dup'), 'w1', 'boom');
select is(dotq.fn_job_enqueue('dup', 'bob', 'dup'), pg_temp.answer('dup', 'retry_waiting', true), 'the key of a job that waits for its next attempt is taken');
select is(dotq.fn_job_enqueue('mail', 'bob', 'dup') -> 'duplicate', 'false', 'the same key of another kind is free');

create function pg_temp.ended(p_key text)
returns boolean
language plpgsql
as $fn$
begin
    perform pg_temp.leased(p_key);
    perform case p_key
        when 'succeeded' then dotq.fn_job_ack(pg_temp.id(p_key), 'w1')
        when 'failed' then dotq.fn_job_fail_or_retry(pg_temp.id(p_key), 'w1', 'boom', false)
        when 'dead_letter' then dotq.fn_job_move_to_dead_letter(pg_temp.id(p_key), 'boom', 'ann')
        when 'cancelled' then dotq.fn_job_cancel(pg_temp.id(p_key), 'ann')
    end;
    if p_key = 'cancelled' then
        perform dotq.fn_job_release(pg_temp.id(p_key), 'w1');
    end if;
    return pg_temp.job(p_key) ->> 'state' = p_key and not (dotq.fn_job_enqueue(p_key, 'ann', p_key) -> 'duplicate')::boolean;
end
$fn$;
select ok(pg_temp.ended('succeeded'), 'the key of a succeeded job is free again');
select ok(pg_temp.ended('failed'), 'the key of a failed job is free again');
select ok(pg_temp.ended('dead_letter'), 'the key of a dead job is free again');
select ok(pg_temp.ended('cancelled'), 'the key of a cancelled job is free again');
select dotq.fn_kind_set('kept', '{"dedupe": "retained"}', 'ann');
select pg_temp.leased('kept');
select dotq.fn_job_ack(pg_temp.id('kept'), 'w1');
select is(dotq.fn_job_enqueue('kept', 'ann', 'kept'), pg_temp.answer('kept', 'succeeded', true), 'unless its kind retains keys');

-- Kinds.
select is(
    (select jsonb_build_array(enabled, dedupe, registered_by) from dotq.job_kind where job_kind = 'mail'), '[true, "active", "ann"]',
    'a new kind registers itself, under the name of who enqueued first'
);
select dotq.fn_kind_pause('batch', 'ann');
select is(dotq.fn_job_enqueue('batch', 'ann') ->> 'state', 'queued', 'a paused kind takes new jobs');
select dotq.fn_kind_set('batch', '{"enabled": false}', 'ann');
select throws_ok($$select dotq.fn_job_enqueue('batch', 'ann')$$, 'JQ006', 'job_kind: ''batch'' is disabled', 'a disabled kind takes none');
select dotq.fn_config_set('queue.kind.strict', 'true', 'test');
select throws_ok(
    $$select dotq.fn_job_enqueue('unheard-of', 'ann')$$, 'JQ005', 'job_kind: ''unheard-of'' is not registered',
    'an unknown kind is refused while queue.kind.strict is on'
);
select is_empty($$select * from dotq.job_kind where job_kind = 'unheard-of'$$, 'and is not registered');
select is(dotq.fn_job_enqueue('mail', 'ann') ->> 'state', 'queued', 'known kinds go on');
select dotq.fn_config_set('queue.kind.strict', 'false', 'test');

-- Payloads.
select dotq.fn_kind_set('typed', '{"payload_schema": {"type": "object", "required": ["n"]}, "max_payload_bytes": 20}', 'ann');
create temp table jobs_until_here as select count(*) as jobs from dotq.job_queue;
select throws_ok($$select dotq.fn_job_enqueue('typed', 'ann', p_payload_json => '{"m": 1}')$$, 'JQ007', null, 'a payload that does not fit the schema of its kind is refused');
select throws_ok($$select dotq.fn_job_enqueue('typed', 'ann', p_payload_json => null)$$, 'JQ007', null, 'no payload is checked as an empty one');
select throws_ok(
    $$select dotq.fn_job_enqueue('typed', 'ann', p_payload_json => '{"n": "123456789012"}')$$, '22023', 'payload_json: is 21 bytes long',
    'a payload one byte over the limit of its kind is refused'
);
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => 'null')$$, '22023', 'payload_json: is a JSON null', 'a JSON null is no payload');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '[]')$$, '22023', 'payload_json: is a JSON array', 'an array is no payload');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '"x"')$$, '22023', 'payload_json: is a JSON string', 'a string is no payload');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '1')$$, '22023', 'payload_json: is a JSON number', 'a number is no payload');
select results_eq(
    $$select key from unnest(array['body', 'content', 'raw', 'vector', 'embedding', 'secret', 'token', 'password', 'ssn', 'personal_data', 'subject']) as key
      where dotq.fn_json_is_safe(jsonb_build_object(key, 1))$$,
    $$values ('subject')$$,
    'ten keys are denied'
);
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '{"body": 1}')$$, '22023', 'payload_json: the key body is not allowed', 'a denied key is refused'
);
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '{"a": [{"b": {"Embedding": []}}]}')$$,
    '22023', 'payload_json: the key "Embedding" is not allowed', 'at any depth and in any letter case'
);
select dotq.fn_config_set('queue.payload.max_bytes', '10', 'test');
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '{"n": 12345}')$$, '22023', 'payload_json: is 12 bytes long',
    'a payload over queue.payload.max_bytes is refused'
);
select dotq.fn_config_set('queue.payload.max_bytes', '12', 'test');
select is((select count(*) from dotq.job_queue), (select jobs from jobs_until_here), 'no refused job is there');
select lives_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '{"n": 12345}')$$, 'a payload of exactly queue.payload.max_bytes is accepted');
select lives_ok(
    $$select dotq.fn_job_enqueue('typed', 'ann', p_payload_json => '{"n": "12345678901"}')$$, 'the limit of a kind comes before the setting'
);
select dotq.fn_config_set('queue.payload.max_bytes', '1000', 'test');
select lives_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_json => '{"nobody": 1, "tokens": 2, "note": "password"}')$$, 'only whole keys are denied, and no values');

-- Other arguments.
truncate jobs_until_here;
insert into jobs_until_here select count(*) from dotq.job_queue;
select throws_ok($$select dotq.fn_job_enqueue(null, 'ann')$$, '22023', 'job_kind: is required', 'the kind is required');
select throws_ok($$select dotq.fn_job_enqueue(' ', 'ann')$$, '22023', 'job_kind: must not be blank', 'a blank kind is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', null)$$, '22023', 'actor: is required', 'the actor is required');
select throws_ok($$select dotq.fn_job_enqueue('mail', '')$$, '22023', 'actor: must not be blank', 'a blank actor is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', '')$$, '22023', 'idempotency_key: must not be blank', 'a blank key is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_source_ref => '')$$, '22023', 'source_ref: must not be blank', 'a blank source is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_target_ref => '')$$, '22023', 'target_ref: must not be blank', 'a blank target is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_payload_ref => '')$$, '22023', 'payload_ref: must not be blank', 'a blank payload reference is refused');
select throws_ok($$select dotq.fn_job_enqueue('mail', 'ann', p_priority => -1)$$, '22023', 'priority: -1 is negative', 'a negative priority is refused');
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann', p_scheduled_at => 'infinity')$$, '22023', 'scheduled_at: infinity is not a time', 'an infinite time is refused'
);
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann', p_max_attempts => 0)$$, '22023', 'max_attempts: 0 is out of range', 'a job without attempts is refused'
);
select is((select count(*) from dotq.job_queue), (select jobs from jobs_until_here), 'no refused job is there');

-- Gates.
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann')$$, 'JQ001', 'the gate queue.enqueue.enabled is closed', 'a closed enqueue gate raises'
);
select dotq.fn_config_set('queue.enqueue.enabled', 'true', 'test');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select throws_ok(
    $$select dotq.fn_job_enqueue('mail', 'ann')$$, 'JQ001', 'the gate queue.job_substrate.enabled is closed', 'a closed master gate raises'
);
select is((select count(*) from dotq.job_queue), (select jobs from jobs_until_here), 'nothing comes through a closed gate');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
set local role dotq_producer;
select is(dotq.fn_job_enqueue('mail', 'ann') ->> 'state', 'queued', 'a producer enqueues, without rights on the tables, while nothing is handed out');
reset role;

select * from finish();
rollback;
