begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_set'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'only an operator may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_set'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_set'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_kind (job_kind, registered_by, paused_at, paused_by, created_at, updated_at)
values ('other', 'ann', '2030-01-01', 'bob', '2030-01-01', '2030-01-01');
create temp table before as select * from dotq.job_kind;
create temp table audited as select coalesce(max(audit_id), 0) as audit_id from dotq.dot_config_audit;

select throws_ok($$select dotq.fn_kind_set(null, '{}', 'ann')$$, '22023', 'kind: is required', 'no kind is refused');
select throws_ok($$select dotq.fn_kind_set(' ', '{}', 'ann')$$, '22023', 'kind: must not be blank', 'a blank kind is refused');
select throws_ok($$select dotq.fn_kind_set(repeat('k', 201), '{}', 'ann')$$, '22023', 'kind: is 201 characters long', 'a kind of 201 characters is refused');
select throws_ok($$select dotq.fn_kind_set('mail.send', '{}', null)$$, '22023', 'actor: is required', 'nobody sets a policy without a name');
select throws_ok($$select dotq.fn_kind_set('mail.send', '{}', ' ')$$, '22023', 'actor: must not be blank', 'a blank name is no name');
select throws_ok($$select dotq.fn_kind_set('mail.send', '{}', repeat('a', 201))$$, '22023', 'actor: is 201 characters long', 'a name of 201 characters is refused');
select throws_ok($$select dotq.fn_kind_set('mail.send', null, 'ann')$$, '22023', 'policy: must be a JSON object', 'no policy is refused');
select throws_ok(
    $$select dotq.fn_kind_set('mail.send', '{"max_attempts": 0}', 'ann')$$, '22023', 'policy: max_attempts cannot be 0', 'a value out of range is refused'
);
select throws_ok(
    $$select dotq.fn_kind_set('other', '{"paused_at": null}', 'ann')$$,
    '22023', 'policy: ''paused_at'' is not a policy of a kind', 'a pause cannot be lifted by the back door'
);
select results_eq('select * from dotq.job_kind order by job_kind', 'select * from before order by job_kind', 'a refusal changes no kind');
select is_empty(
    'select * from dotq.dot_config_audit where audit_id > (select audit_id from audited)', 'a refusal leaves no audit row'
);

select is(
    dotq.fn_kind_set('mail.send', '{}', 'ann') - 'created_at',
    '{
        "ok": true, "job_kind": "mail.send", "enabled": true, "paused_at": null, "paused_until": null, "paused_by": null, "pause_reason": null,
        "default_priority": 100, "max_attempts": null, "lease_seconds": null, "backoff_strategy": "exponential", "backoff_base_sec": null,
        "backoff_cap_sec": null, "backoff_jitter": 0, "on_crash": "retry", "crash_limit": null, "dedupe": "active",
        "payload_schema": null, "max_payload_bytes": null, "owner_agent": null, "description": null,
        "registered_by": "ann", "updated_at": "2030-01-01T12:00:00+00:00"
    }',
    'an empty policy registers a kind with defaults and returns all of it'
);
select is(
    (select to_jsonb(kind) - 'created_at' from dotq.job_kind as kind where job_kind = 'mail.send'),
    dotq.fn_kind_get('mail.send') - 'created_at',
    'the kind is there'
);

set local test.clock = '2030-01-01 13:00:00+00';
create temp table changed as
select dotq.fn_kind_set('mail.send', '{
    "enabled": false, "default_priority": 5, "max_attempts": 3, "lease_seconds": 60, "backoff_strategy": "linear", "backoff_base_sec": 1,
    "backoff_cap_sec": 100, "backoff_jitter": 0.25, "on_crash": "hold", "crash_limit": 2, "dedupe": "retained",
    "payload_schema": {"type": "object"}, "max_payload_bytes": 1000, "owner_agent": "postman", "description": "sends mail"
}', 'bob') as answer;
select is(
    (select answer - 'created_at' from changed),
    '{
        "ok": true, "job_kind": "mail.send", "enabled": false, "paused_at": null, "paused_until": null, "paused_by": null, "pause_reason": null,
        "default_priority": 5, "max_attempts": 3, "lease_seconds": 60, "backoff_strategy": "linear", "backoff_base_sec": 1,
        "backoff_cap_sec": 100, "backoff_jitter": 0.25, "on_crash": "hold", "crash_limit": 2, "dedupe": "retained",
        "payload_schema": {"type": "object"}, "max_payload_bytes": 1000, "owner_agent": "postman", "description": "sends mail",
        "registered_by": "ann", "updated_at": "2030-01-01T13:00:00+00:00"
    }',
    'every policy can be set, and who registered the kind stays'
);
select is(
    dotq.fn_kind_get('mail.send') || '{"ok": true}', (select answer from changed), 'what the answer says is what is stored'
);
select is(
    dotq.fn_kind_set('mail.send', '{"max_attempts": 9.0}', 'carol'),
    (select answer || '{"max_attempts": 9}' from changed),
    'what is not named stays; a whole number may be written with decimals'
);
select is(
    dotq.fn_kind_set('mail.send', '{
        "enabled": null, "default_priority": null, "max_attempts": null, "lease_seconds": null, "backoff_strategy": null, "backoff_base_sec": null,
        "backoff_cap_sec": null, "backoff_jitter": null, "on_crash": null, "crash_limit": null, "dedupe": null, "payload_schema": null,
        "max_payload_bytes": null, "owner_agent": null, "description": null
    }', 'dora') - 'created_at' - 'updated_at',
    (dotq.fn_kind_set('fresh', '{}', 'ann') || '{"job_kind": "mail.send"}') - 'created_at' - 'updated_at',
    'a null goes back to the default of every policy'
);
select is(
    (select payload_schema from dotq.job_kind where job_kind = 'mail.send'), null, 'a schema set to null is gone, not a JSON null'
);
select results_eq(
    $$select * from dotq.job_kind where job_kind = 'other'$$, $$select * from before where job_kind = 'other'$$, 'no other kind is changed'
);
select results_eq(
    $$select key, old_value is null, old_value::jsonb ->> 'max_attempts', new_value::jsonb ->> 'max_attempts', changed_by
    from dotq.dot_config_audit
    where audit_id > (select audit_id from audited)
    order by audit_id$$,
    $$values
        ('kind:mail.send', true, null::text, null::text, 'ann'),
        ('kind:mail.send', false, null, '3', 'bob'),
        ('kind:mail.send', false, '3', '9', 'carol'),
        ('kind:mail.send', false, '9', null, 'dora'),
        ('kind:fresh', true, null, null, 'ann')$$,
    'each change is one audit row with the policy before and after it; a new kind had none before'
);
select is(
    (select new_value::jsonb from dotq.dot_config_audit where changed_by = 'bob' and audit_id > (select audit_id from audited)),
    (select answer - 'ok' from changed),
    'the audit keeps the whole policy'
);
select is(
    dotq.fn_kind_set('other', '{"enabled": true}', 'ann') ->> 'paused_by', 'bob', 'a change of policy does not lift a pause'
);
select lives_ok($$select dotq.fn_kind_set(repeat('k', 200), '{}', repeat('a', 200))$$, '200 characters are enough for a kind and for a name');
set local role dotq_operator;
select is(dotq.fn_kind_set('fresh', '{"max_attempts": 2}', 'eve') ->> 'max_attempts', '2', 'an operator needs no rights on the tables');
reset role;

select * from finish();
rollback;
