begin;
select plan(15);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select is(
    dotq.fn_queue_stale_check(),
    '{"ok": true, "threshold_seconds": 300, "stale_count": 0, "stale": []}',
    'when no executor has ever ticked, none is stale, and the threshold of the settings is told'
);

insert into dotq.queue_heartbeat (executor_name, executor_kind, last_tick_at, current_job_id)
values
    ('at the threshold', 'DOT', '2030-01-01 11:55:00+00', null),
    ('just over', 'Agent', '2030-01-01 11:54:59.6+00', '00000000-0000-0000-0000-00000000000a'),
    ('a minute over', 'Codex', '2030-01-01 11:54:00+00', null),
    ('fresh', 'Hermes', '2030-01-01 11:59:59+00', null);
create temp table before as select to_jsonb(h) as beat from dotq.queue_heartbeat as h;

select is(
    dotq.fn_queue_stale_check(),
    jsonb_build_object(
        'ok', true, 'threshold_seconds', 300, 'stale_count', 3, 'stale', jsonb_build_array(
            jsonb_build_object(
                'executor_name', 'a minute over', 'executor_kind', 'Codex', 'last_tick_at', timestamptz '2030-01-01 11:54:00+00',
                'seconds_since_tick', 360, 'current_job_id', null
            ),
            jsonb_build_object(
                'executor_name', 'just over', 'executor_kind', 'Agent', 'last_tick_at', timestamptz '2030-01-01 11:54:59.6+00',
                'seconds_since_tick', 300, 'current_job_id', '00000000-0000-0000-0000-00000000000a'
            ),
            jsonb_build_object(
                'executor_name', 'at the threshold', 'executor_kind', 'DOT', 'last_tick_at', timestamptz '2030-01-01 11:55:00+00',
                'seconds_since_tick', 300, 'current_job_id', null
            )
        )
    ),
    'executors that have not ticked for the threshold or longer are listed, the longest silent first'
);
select is(
    (
        select jsonb_build_array(a -> 'threshold_seconds', a -> 'stale_count', jsonb_path_query_array(a, '$.stale[*].executor_name'))
        from dotq.fn_queue_stale_check(360) as a
    ),
    '[360, 1, ["a minute over"]]',
    'a threshold that the caller gives goes before the setting'
);
select is(dotq.fn_queue_stale_check(361) -> 'stale_count', '0', 'an executor that has been silent for less than the threshold is not stale');
select is(dotq.fn_queue_stale_check(1) -> 'stale_count', '4', 'the smallest threshold is one second');
select is(dotq.fn_queue_stale_check(86400) -> 'threshold_seconds', '86400', 'the largest threshold is one day');
select dotq.fn_config_set('queue.heartbeat.stale_threshold_seconds', '299', 'test');
select is(
    dotq.fn_queue_stale_check(null) - 'stale', '{"ok": true, "threshold_seconds": 299, "stale_count": 3}', 'a null threshold is that of the settings'
);
select bag_eq(
    $$ select to_jsonb(h) from dotq.queue_heartbeat as h $$, $$ select beat from before $$, 'looking changes nothing'
);

-- What is refused.
select throws_ok(
    $$ select dotq.fn_queue_stale_check(0) $$, '22023', 'threshold_seconds: 0 is out of range', 'a threshold of 0 is refused'
);
select throws_ok($$ select dotq.fn_queue_stale_check(-1) $$, '22023', null, 'a negative threshold is refused');
select throws_ok($$ select dotq.fn_queue_stale_check(86401) $$, '22023', null, 'a threshold of more than a day is refused');

-- Who may call it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_function_privilege(r, 'dotq.fn_queue_stale_check'::regproc, 'execute')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may call it, nobody else'
);
select isnt_definer('dotq', 'fn_queue_stale_check', 'it runs with the rights of its caller');
select volatility_is('dotq', 'fn_queue_stale_check', 'stable', 'it cannot write');
set local role dotq_reader;
select is(
    (select (dotq.fn_queue_stale_check() ->> 'stale_count')::integer), 3, 'a reader, who has no right on any table, gets the same answer'
);
reset role;

select * from finish();
rollback;
