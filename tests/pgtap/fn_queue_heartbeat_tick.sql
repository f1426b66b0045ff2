begin;
select plan(34);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

-- The gate.
select dotq.fn_worker_register('agent-1', 'host-a', 1);
set local test.clock = '2030-01-01 12:01:00+00';
select is(
    dotq.fn_queue_heartbeat_tick('agent-1', 'Agent'),
    '{"ok": false, "executor_name": "agent-1", "reason": "gate_closed: queue.heartbeat.enabled"}',
    'while the gate is closed the answer is no, with the reason'
);
select is_empty($$ select from dotq.queue_heartbeat $$, 'while the gate is closed no tick is written');
select is(
    (select last_heartbeat_at from dotq.queue_worker where worker_id = 'agent-1'), '2030-01-01 12:00:00+00',
    'while the gate is closed a tick does not count as a sign of the worker'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('agent-1', 'Robot') $$, '22023', null, 'a bad argument is refused even while the gate is closed'
);
select dotq.fn_config_set('queue.heartbeat.enabled', 'true', 'test');

-- The first tick.
select is(
    dotq.fn_queue_heartbeat_tick(
        'agent-1', 'Agent', 'warn', '00000000-0000-0000-0000-00000000000a', 'w1', '{"load": 1}'
    ),
    jsonb_build_object(
        'ok', true, 'executor_name', 'agent-1', 'last_tick_at', timestamptz '2030-01-01 12:01:00+00', 'ticks_total', 1, 'reason', null
    ),
    'the first tick is counted as one'
);
select is(
    (select to_jsonb(h) - 'created_at' from dotq.queue_heartbeat as h where executor_name = 'agent-1'),
    jsonb_build_object(
        'executor_name', 'agent-1', 'executor_kind', 'Agent', 'last_tick_at', timestamptz '2030-01-01 12:01:00+00',
        'last_tick_status', 'warn', 'ticks_total', 1, 'current_job_id', '00000000-0000-0000-0000-00000000000a',
        'lease_owner', 'w1', 'metadata', '{"load": 1}'::jsonb, 'updated_at', timestamptz '2030-01-01 12:01:00+00'
    ),
    'everything the executor said is stored'
);
select is(
    (select last_heartbeat_at from dotq.queue_worker where worker_id = 'agent-1'), '2030-01-01 12:01:00+00',
    'a worker registered under the same name counts as heard of'
);

-- The next ones.
select dotq.fn_worker_register('agent-2', 'host-a', 1);
set local test.clock = '2030-01-01 12:02:00+00';
select is(
    dotq.fn_queue_heartbeat_tick('agent-1', 'DOT', 'error', '00000000-0000-0000-0000-00000000000b', 'w2', '{"load": 2}'),
    jsonb_build_object(
        'ok', true, 'executor_name', 'agent-1', 'last_tick_at', timestamptz '2030-01-01 12:02:00+00', 'ticks_total', 2, 'reason', null
    ),
    'a further tick is counted'
);
select is(
    (select to_jsonb(h) - 'created_at' from dotq.queue_heartbeat as h where executor_name = 'agent-1'),
    jsonb_build_object(
        'executor_name', 'agent-1', 'executor_kind', 'DOT', 'last_tick_at', timestamptz '2030-01-01 12:02:00+00',
        'last_tick_status', 'error', 'ticks_total', 2, 'current_job_id', '00000000-0000-0000-0000-00000000000b',
        'lease_owner', 'w2', 'metadata', '{"load": 2}'::jsonb, 'updated_at', timestamptz '2030-01-01 12:02:00+00'
    ),
    'a further tick replaces what was said before'
);
select is(
    (select last_heartbeat_at from dotq.queue_worker where worker_id = 'agent-2'), '2030-01-01 12:01:00+00', 'no other worker counts as heard of'
);
select dotq.fn_queue_heartbeat_tick('agent-1', 'DOT', 'ok', null, null, null);
select is(
    (select to_jsonb(h) - 'created_at' - 'updated_at' - 'last_tick_at' from dotq.queue_heartbeat as h where executor_name = 'agent-1'),
    '{"executor_name": "agent-1", "executor_kind": "DOT", "last_tick_status": "ok", "ticks_total": 3, "current_job_id": null,
      "lease_owner": null, "metadata": {}}',
    'nulls take back what was said before, and null metadata is an empty object'
);
set local test.clock = '2030-01-01 12:01:30+00';
select is(
    (dotq.fn_queue_heartbeat_tick('agent-1', 'DOT') ->> 'last_tick_at')::timestamptz, '2030-01-01 12:02:00+00',
    'a tick that comes late does not set the clock of its executor back'
);
select is(
    (select ticks_total from dotq.queue_heartbeat where executor_name = 'agent-1'), 4::bigint, 'a tick that comes late is counted all the same'
);

-- Defaults and choices.
select dotq.fn_queue_heartbeat_tick('agent-3', 'Codex');
select is(
    (select to_jsonb(h) - 'created_at' - 'updated_at' - 'last_tick_at' from dotq.queue_heartbeat as h where executor_name = 'agent-3'),
    '{"executor_name": "agent-3", "executor_kind": "Codex", "last_tick_status": "ok", "ticks_total": 1, "current_job_id": null,
      "lease_owner": null, "metadata": {}}',
    'a name and a kind are enough: the status is then ok'
);
select is((select count(*) from dotq.queue_heartbeat), 2::bigint, 'each executor has one row');
select results_eq(
    $$ select kind, (dotq.fn_queue_heartbeat_tick('of kind ' || kind, kind) ->> 'ok')::boolean
       from unnest(array['DOT', 'Agent', 'Hermes', 'Codex', 'PG_worker', 'external_worker', 'future_Kestra_adapter']) as kind $$,
    $$ values ('DOT', true), ('Agent', true), ('Hermes', true), ('Codex', true), ('PG_worker', true), ('external_worker', true),
        ('future_Kestra_adapter', true) $$,
    'there are seven kinds of executor'
);

-- What is refused.
select throws_ok($$ select dotq.fn_queue_heartbeat_tick(null, 'DOT') $$, '22023', 'executor_name: is required', 'a name is required');
select throws_ok($$ select dotq.fn_queue_heartbeat_tick(E' \n', 'DOT') $$, '22023', null, 'a name must not be blank');
select throws_ok($$ select dotq.fn_queue_heartbeat_tick(repeat('x', 201), 'DOT') $$, '22023', null, 'a name has at most 200 characters');
select lives_ok($$ select dotq.fn_queue_heartbeat_tick(repeat('y', 200), 'DOT') $$, 'a name may have 200 characters');
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', null) $$, '22023', 'executor_kind: null is not a kind of executor', 'a kind is required'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'dot') $$, '22023', 'executor_kind: ''dot'' is not a kind of executor',
    'a kind is written exactly as listed'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', null) $$, '22023', 'status: null is not a status', 'a null status is refused'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'OK') $$, '22023', 'status: ''OK'' is not a status', 'a status is ok, warn or error'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'ok', null, ' ') $$, '22023', 'lease_owner: must not be blank', 'a lease owner must not be blank'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'ok', null, repeat('w', 201)) $$, '22023', null, 'a lease owner has at most 200 characters'
);
select lives_ok(
    $$ select dotq.fn_queue_heartbeat_tick('y', 'DOT', 'ok', null, repeat('w', 200)) $$, 'a lease owner may have 200 characters'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'ok', null, null, '"text"') $$, '22023', 'metadata: is a JSON string', 'metadata has to be an object'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'ok', null, null, '{"a": {"b": [{"ToKeN": 1}]}}') $$, '22023', null,
    'a denied key in the metadata is refused, at any depth and in any letter case'
);
select throws_ok(
    $$ select dotq.fn_queue_heartbeat_tick('x', 'DOT', 'ok', null, null, jsonb_build_object('a', repeat('x', 65528))) $$, '22023', null,
    'metadata of more than 65536 bytes is refused'
);
select lives_ok(
    $$ select dotq.fn_queue_heartbeat_tick('y', 'DOT', 'ok', null, null, jsonb_build_object('a', repeat('x', 65527))) $$,
    'metadata may have 65536 bytes'
);
select is_empty($$ select from dotq.queue_heartbeat where executor_name = 'x' $$, 'a refused tick leaves nothing behind');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_queue_heartbeat_tick'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_queue_heartbeat_tick', 'it runs with the rights of the owner');

select * from finish();
rollback;
