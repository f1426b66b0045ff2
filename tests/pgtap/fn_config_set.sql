begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_config_set'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'only an operator may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_config_set'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_config_set'::regproc), 'v', 'it may answer differently each time');

create temp table before as select * from dotq.dot_config;
create temp table audited as select coalesce(max(audit_id), 0) as audit_id from dotq.dot_config_audit;

select throws_ok(
    $$select dotq.fn_config_set('queue.nonsense', 'true', 'ann')$$, 'JQ011', 'key: ''queue.nonsense'' is not a setting', 'an unknown key is refused'
);
select throws_ok($$select dotq.fn_config_set(null, 'true', 'ann')$$, 'JQ011', 'key: null is not a setting', 'no key is refused');
select throws_ok(
    $$select dotq.fn_config_set('queue.claim.enabled', 'maybe', 'ann')$$,
    '22023', 'value: ''maybe'' cannot be the value of queue.claim.enabled', 'a switch cannot be maybe'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.claim.enabled', null, 'ann')$$,
    '22023', 'value: null cannot be the value of queue.claim.enabled', 'a switch cannot be null'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.cancel.grace_sec', '86401', 'ann')$$,
    '22023', 'value: ''86401'' cannot be the value of queue.cancel.grace_sec', 'a number above its range is refused'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.lease.max_sec', '0', 'ann')$$,
    '22023', 'value: ''0'' cannot be the value of queue.lease.max_sec', 'a number below its range is refused'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.claim.enabled', 'false', null)$$, '22023', 'actor: is required', 'nobody changes a setting without a name'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.claim.enabled', 'false', '  ')$$, '22023', 'actor: must not be blank', 'a blank name is no name'
);
select throws_ok(
    $$select dotq.fn_config_set('queue.claim.enabled', 'false', repeat('a', 201))$$, '22023', 'actor: is 201 characters long', 'a name has at most 200 characters'
);
select results_eq('select * from dotq.dot_config order by key', 'select * from before order by key', 'a refusal changes no setting');
select is_empty('select * from dotq.dot_config_audit where audit_id > (select audit_id from audited)', 'a refusal leaves no audit row');

select is(
    dotq.fn_config_set('queue.job_substrate.enabled', 'true', repeat('a', 200)),
    '{"ok": true, "key": "queue.job_substrate.enabled", "old_value": "false", "value": "true"}',
    'the answer has the key, the old value and the new one'
);
select results_eq(
    $$select value, description, updated_at, updated_by from dotq.dot_config where key = 'queue.job_substrate.enabled'$$,
    $$select 'true', description, timestamptz '2030-01-01 12:00:00+00', repeat('a', 200) from before where key = 'queue.job_substrate.enabled'$$,
    'the row says who changed it and when, and keeps its description'
);
select results_eq(
    'select key, old_value, new_value, changed_by, login from dotq.dot_config_audit where audit_id > (select audit_id from audited)',
    $$values ('queue.job_substrate.enabled', 'false', 'true', repeat('a', 200), session_user::text collate "default")$$,
    'one change is one audit row: what, from, to, by whom, under which login'
);
select results_eq(
    $$select * from dotq.dot_config where key <> 'queue.job_substrate.enabled' order by key$$,
    $$select * from before where key <> 'queue.job_substrate.enabled' order by key$$,
    'no other setting is touched'
);
select is(dotq.fn_config_set('queue.claim.enabled', given, 'ann') ->> 'value', stored, promise)
from (
    values
        (' OFF ', 'false', 'off is stored as false'),
        ('Yes', 'true', 'yes is stored as true'),
        (' On ', 'true', 'on is stored as true, whatever its letters and blanks'),
        ('no', 'false', 'no is stored as false'),
        ('1', 'true', '1 is stored as true'),
        ('0', 'false', '0 is stored as false'),
        ('FALSE', 'false', 'FALSE is stored as false')
) as listed (given, stored, promise);
select is(
    (select value from dotq.dot_config where key = 'queue.claim.enabled'), 'false', 'what the answer says is what is stored'
);
select is(dotq.fn_config_set('queue.cancel.grace_sec', given, 'ann') ->> 'value', stored, promise)
from (
    values
        (' 0045 ', '45', 'a number is stored without blanks and leading zeros'),
        ('0', '0', 'the smallest number is stored'),
        ('86400', '86400', 'the largest number is stored')
) as listed (given, stored, promise);

delete from dotq.dot_config where key = 'queue.lease.max_sec';
select is(
    dotq.fn_config_set('queue.lease.max_sec', '600', 'bob'),
    '{"ok": true, "key": "queue.lease.max_sec", "old_value": null, "value": "600"}',
    'a setting whose row is gone gets one again'
);
select is(dotq.fn_config_integer('queue.lease.max_sec'), 600, 'a new value counts at once');

update audited set audit_id = (select max(audit_id) from dotq.dot_config_audit);
set local test.clock = '2030-01-01 13:00:00+00';
select is(
    dotq.fn_config_set('queue.lease.max_sec', '600', 'carol') ->> 'old_value', '600', 'setting what is set already succeeds'
);
select is(
    (select max(audit_id) from dotq.dot_config_audit), (select audit_id from audited), 'what changed nothing is not in the audit'
);
set local role dotq_operator;
select is(dotq.fn_config_set('queue.lease.max_sec', '601', 'dora') ->> 'ok', 'true', 'an operator needs no rights on the tables');
reset role;

create function pg_temp.hint(p_statement text)
returns text
language plpgsql
as $fn$
declare
    l_hint text;
begin
    execute p_statement;
    return null;
exception
    when others then
        get stacked diagnostics l_hint = pg_exception_hint;
        return l_hint;
end
$fn$;

select is(
    pg_temp.hint($$select dotq.fn_config_set('queue.claim.enabled', '?', 'ann')$$),
    'Allowed: true or false.',
    'the hint says what a switch may be'
);
select is(
    pg_temp.hint($$select dotq.fn_config_set('queue.cancel.grace_sec', '?', 'ann')$$),
    'Allowed: a whole number from 0 to 86400.',
    'the hint says which numbers are allowed'
);
select is(
    pg_temp.hint($$select dotq.fn_config_set('queue.nonsense', '?', 'ann')$$),
    'select key, value_type, allowed from dotq.v_config lists them.',
    'the hint says where the settings are listed'
);

select * from finish();
rollback;
