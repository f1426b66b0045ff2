begin;
select plan(8);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_kind_set('plain', '{}', 'ann');
select dotq.fn_kind_set(
    'full',
    '{"default_priority": 7, "max_attempts": 8, "lease_seconds": 9, "backoff_strategy": "linear", "backoff_base_sec": 10, "backoff_cap_sec": 11,
      "backoff_jitter": 0.5, "on_crash": "hold", "crash_limit": 12, "dedupe": "retained", "payload_schema": {"type": "object"},
      "max_payload_bytes": 13, "owner_agent": "postman", "description": "letters"}',
    'bob'
);
select dotq.fn_kind_set('off', '{"enabled": false}', 'ann');
select dotq.fn_kind_set('paused', '{}', 'ann');
select dotq.fn_kind_pause('paused', 'cid', 'too hot');
select dotq.fn_kind_set('paused a while', '{}', 'ann');
select dotq.fn_kind_pause('paused a while', 'cid', null, '2030-01-01 12:10:00+00');
select dotq.fn_kind_set('paused and off', '{"enabled": false}', 'ann');
select dotq.fn_kind_pause('paused and off', 'cid');

select results_eq(
    $$ select job_kind, status from dotq.v_kind $$,
    $$ values ('full', 'active'), ('off', 'disabled'), ('paused', 'paused'), ('paused a while', 'paused'), ('paused and off', 'disabled'), ('plain', 'active') $$,
    'every kind is listed by name, active, paused or disabled'
);
select is(
    (select to_jsonb(k) - 'created_at' from dotq.v_kind as k where job_kind = 'full'),
    jsonb_build_object(
        'job_kind', 'full', 'status', 'active', 'paused_until', null, 'paused_by', null, 'pause_reason', null, 'default_priority', 7, 'max_attempts', 8,
        'lease_seconds', 9, 'backoff_strategy', 'linear', 'backoff_base_sec', 10, 'backoff_cap_sec', 11, 'backoff_jitter', 0.5, 'on_crash', 'hold',
        'crash_limit', 12, 'dedupe', 'retained', 'has_schema', true, 'max_payload_bytes', 13, 'owner_agent', 'postman', 'description', 'letters',
        'registered_by', 'bob', 'updated_at', timestamptz '2030-01-01 12:00:00+00'
    ),
    'a kind shows its own policy'
);
select dotq.fn_config_set('queue.retry.max_attempts_default', '3', 'test');
select dotq.fn_config_set('queue.lease.duration_sec', '60', 'test');
select dotq.fn_config_set('queue.payload.max_bytes', '1000', 'test');
select is(
    (select to_jsonb(k) - 'created_at' - 'updated_at' from dotq.v_kind as k where job_kind = 'plain'),
    '{"job_kind": "plain", "status": "active", "paused_until": null, "paused_by": null, "pause_reason": null, "default_priority": 100,
      "max_attempts": 3, "lease_seconds": 60, "backoff_strategy": "exponential", "backoff_base_sec": null, "backoff_cap_sec": null, "backoff_jitter": 0,
      "on_crash": "retry", "crash_limit": null, "dedupe": "active", "has_schema": false, "max_payload_bytes": 1000, "owner_agent": null,
      "description": null, "registered_by": "ann"}',
    'where a kind says nothing, what is configured for all is filled in'
);
select results_eq(
    $$ select paused_until, paused_by, pause_reason from dotq.v_kind where job_kind like 'paused%' and status = 'paused' $$,
    $$ values (null::timestamptz, 'cid', 'too hot'), ('2030-01-01 12:10:00+00', 'cid', null) $$,
    'a pause shows until when, by whom and why'
);
set local test.clock = '2030-01-01 12:09:59.999999+00';
select is((select status from dotq.v_kind where job_kind = 'paused a while'), 'paused', 'a pause lasts until its end');
set local test.clock = '2030-01-01 12:10:00+00';
select is((select status from dotq.v_kind where job_kind = 'paused a while'), 'active', 'a pause is over exactly at its end');
select is((select status from dotq.v_kind where job_kind = 'paused'), 'paused', 'a pause without an end goes on');

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_kind', 'select')
    ),
    array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker'],
    'producers, workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
