begin;
select plan(34);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select is(
    dotq.fn_worker_register('w1', 'host-a', 4, '1.2.3', array['mail', 'sync'], array['eu'], '{"zone": "b"}'),
    jsonb_build_object(
        'ok', true, 'worker_id', 'w1',
        'started_at', timestamptz '2030-01-01 12:00:00+00', 'last_heartbeat_at', timestamptz '2030-01-01 12:00:00+00'
    ),
    'a new worker is up from now on'
);
select is(
    (select to_jsonb(w) from dotq.queue_worker as w where worker_id = 'w1'),
    jsonb_build_object(
        'worker_id', 'w1', 'hostname', 'host-a', 'started_at', timestamptz '2030-01-01 12:00:00+00',
        'last_heartbeat_at', timestamptz '2030-01-01 12:00:00+00', 'pool_size', 4, 'version', '1.2.3',
        'kinds', array['mail', 'sync'], 'affinity_keys', array['eu'], 'metadata', '{"zone": "b"}'::jsonb
    ),
    'everything the worker said is stored'
);

set local test.clock = '2030-01-01 12:10:00+00';
select is(
    dotq.fn_worker_register('w1', 'host-b', 8, '2.0.0', array['report'], array['us', 'eu'], '{"zone": "c"}'),
    jsonb_build_object(
        'ok', true, 'worker_id', 'w1',
        'started_at', timestamptz '2030-01-01 12:00:00+00', 'last_heartbeat_at', timestamptz '2030-01-01 12:10:00+00'
    ),
    'repeating it says that the worker is still up, and since when'
);
select is(
    (select to_jsonb(w) from dotq.queue_worker as w where worker_id = 'w1'),
    jsonb_build_object(
        'worker_id', 'w1', 'hostname', 'host-b', 'started_at', timestamptz '2030-01-01 12:00:00+00',
        'last_heartbeat_at', timestamptz '2030-01-01 12:10:00+00', 'pool_size', 8, 'version', '2.0.0',
        'kinds', array['report'], 'affinity_keys', array['us', 'eu'], 'metadata', '{"zone": "c"}'::jsonb
    ),
    'repeating it replaces everything but the start'
);
select dotq.fn_worker_register('w2', 'host-a', 1);
select is(
    (select to_jsonb(w) - 'started_at' - 'last_heartbeat_at' from dotq.queue_worker as w where worker_id = 'w2'),
    '{"worker_id": "w2", "hostname": "host-a", "pool_size": 1, "version": null, "kinds": null, "affinity_keys": [], "metadata": {}}',
    'a worker that says no more takes every kind and no affinity'
);
select is((select hostname::text from dotq.queue_worker where worker_id = 'w1'), 'host-b', 'one worker does not touch another');
select dotq.fn_worker_register('w3', 'host-a', 10000, null, null, null, null);
select is((select metadata::jsonb from dotq.queue_worker where worker_id = 'w3'), '{}', 'null metadata is an empty object');
select is((select pool_size from dotq.queue_worker where worker_id = 'w3'), 10000, 'a pool may have 10000 places');

-- What is refused.
select throws_ok($$ select dotq.fn_worker_register(null, 'h', 1) $$, '22023', null, 'a worker id is required');
select throws_ok($$ select dotq.fn_worker_register(' ', 'h', 1) $$, '22023', null, 'a worker id must not be blank');
select throws_ok($$ select dotq.fn_worker_register('a#1', 'h', 1) $$, '22023', null, 'a worker id with # is refused');
select throws_ok($$ select dotq.fn_worker_register(repeat('x', 201), 'h', 1) $$, '22023', null, 'a worker id has at most 200 characters');
select throws_ok($$ select dotq.fn_worker_register('x', null, 1) $$, '22023', 'hostname: is required', 'a host name is required');
select throws_ok($$ select dotq.fn_worker_register('x', ' ', 1) $$, '22023', null, 'a host name must not be blank');
select throws_ok($$ select dotq.fn_worker_register('x', repeat('h', 256), 1) $$, '22023', null, 'a host name has at most 255 characters');
select lives_ok($$ select dotq.fn_worker_register('y', repeat('h', 255), 1) $$, 'a host name may have 255 characters');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', null) $$, '22023', 'pool_size: null is out of range', 'a pool size is required');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 0) $$, '22023', null, 'a pool of 0 is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', -1) $$, '22023', null, 'a negative pool is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 10001) $$, '22023', null, 'a pool of more than 10000 is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, '') $$, '22023', 'version: must not be blank', 'a version must not be blank');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, repeat('1', 101)) $$, '22023', null, 'a version has at most 100 characters');
select lives_ok($$ select dotq.fn_worker_register('y', 'h', 1, repeat('1', 100)) $$, 'a version may have 100 characters');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, null, '{}') $$, '22023', 'kinds: names 0 entries', 'an empty list of kinds is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, null, array['a', null]) $$, '22023', null, 'a null kind is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, null, null, '{}') $$, '22023', null, 'an empty list of affinity keys is refused');
select throws_ok($$ select dotq.fn_worker_register('x', 'h', 1, null, null, array[' ']) $$, '22023', 'affinity_keys: must not be blank', 'a blank affinity key is refused');
select throws_ok(
    $$ select dotq.fn_worker_register('x', 'h', 1, null, null, null, '[]') $$, '22023', 'metadata: is a JSON array', 'metadata has to be an object'
);
select throws_ok(
    $$ select dotq.fn_worker_register('x', 'h', 1, null, null, null, '{"a": [{"PassWord": 1}]}') $$, '22023', null,
    'a denied key in the metadata is refused, at any depth and in any letter case'
);
select throws_ok(
    $$ select dotq.fn_worker_register('x', 'h', 1, null, null, null, jsonb_build_object('a', repeat('x', 65528))) $$, '22023', null,
    'metadata of more than 65536 bytes is refused'
);
select lives_ok(
    $$ select dotq.fn_worker_register('y', 'h', 1, null, null, null, jsonb_build_object('a', repeat('x', 65527))) $$,
    'metadata may have 65536 bytes'
);
select is_empty($$ select from dotq.queue_worker where worker_id = 'x' $$, 'a refused call registers nobody');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_worker_register'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_worker'],
    'workers and operators may call it, nobody else'
);
select is_definer('dotq', 'fn_worker_register', 'it runs with the rights of the owner');

select * from finish();
rollback;
