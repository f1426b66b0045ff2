begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_get'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator'],
    'only producers, workers and operators may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_get'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_get'::regproc), 's', 'it changes nothing');

insert into dotq.job_kind (job_kind, registered_by, max_attempts, payload_schema, owner_agent, created_at, updated_at)
values
    ('mail.send', 'ann', 3, '{"type": "object"}', 'postman', '2030-01-01', '2030-01-02'),
    ('other', 'bob', 9, null, null, '2030-01-01', '2030-01-02');

select is(
    dotq.fn_kind_get('mail.send'),
    '{
        "job_kind": "mail.send", "enabled": true, "paused_at": null, "paused_until": null, "paused_by": null, "pause_reason": null,
        "default_priority": 100, "max_attempts": 3, "lease_seconds": null, "backoff_strategy": "exponential", "backoff_base_sec": null,
        "backoff_cap_sec": null, "backoff_jitter": 0, "on_crash": "retry", "crash_limit": null, "dedupe": "active",
        "payload_schema": {"type": "object"}, "max_payload_bytes": null, "owner_agent": "postman", "description": null,
        "registered_by": "ann", "created_at": "2030-01-01T00:00:00+00:00", "updated_at": "2030-01-02T00:00:00+00:00"
    }',
    'the whole policy of a kind, with its payload schema'
);
select is(dotq.fn_kind_get('other') ->> 'max_attempts', '9', 'of the kind that was asked for');
select throws_ok($$select dotq.fn_kind_get('unknown')$$, 'JQ005', 'kind: ''unknown'' is not registered', 'a kind that is not registered is refused');
select throws_ok($$select dotq.fn_kind_get('Mail.Send')$$, 'JQ005', 'kind: ''Mail.Send'' is not registered', 'capitals matter');
select throws_ok('select dotq.fn_kind_get(null)', 'JQ005', 'kind: null is not registered', 'no kind is refused');
set local role dotq_worker;
select is(dotq.fn_kind_get('mail.send') ->> 'owner_agent', 'postman', 'a worker needs no rights on the table');
reset role;

select * from finish();
rollback;
