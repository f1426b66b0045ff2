begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_pause'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'only an operator may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_pause'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_pause'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_kind (job_kind, registered_by, updated_at) values ('mail.send', 'ann', '2030-01-01'), ('other', 'ann', '2030-01-01');
create temp table before as select * from dotq.job_kind;
create temp table audited as select coalesce(max(audit_id), 0) as audit_id from dotq.dot_config_audit;

select throws_ok($$select dotq.fn_kind_pause('unknown', 'bob')$$, 'JQ005', 'kind: ''unknown'' is not registered', 'a kind that is not registered is refused');
select throws_ok($$select dotq.fn_kind_pause(null, 'bob')$$, '22023', 'kind: is required', 'no kind is refused');
select throws_ok($$select dotq.fn_kind_pause(' ', 'bob')$$, '22023', 'kind: must not be blank', 'a blank kind is refused');
select throws_ok($$select dotq.fn_kind_pause(repeat('k', 201), 'bob')$$, '22023', 'kind: is 201 characters long', 'a kind of 201 characters is refused');
select throws_ok($$select dotq.fn_kind_pause('mail.send', null)$$, '22023', 'actor: is required', 'nobody pauses a kind without a name');
select throws_ok($$select dotq.fn_kind_pause('mail.send', '')$$, '22023', 'actor: must not be blank', 'an empty name is no name');
select throws_ok($$select dotq.fn_kind_pause('mail.send', repeat('a', 201))$$, '22023', 'actor: is 201 characters long', 'a name of 201 characters is refused');
select throws_ok($$select dotq.fn_kind_pause('mail.send', 'bob', ' ')$$, '22023', 'reason: must not be blank', 'a blank reason is refused');
select throws_ok(
    $$select dotq.fn_kind_pause('mail.send', 'bob', repeat('r', 1001))$$, '22023', 'reason: is 1001 characters long', 'a reason of 1001 characters is refused'
);
select throws_ok(
    $$select dotq.fn_kind_pause('mail.send', 'bob', 'why', '2030-01-01 12:00:00+00')$$,
    '22023', 'until: 2030-01-01 12:00:00+00 is not in the future', 'a pause until now is refused'
);
select throws_ok(
    $$select dotq.fn_kind_pause('mail.send', 'bob', 'why', '2029-12-31')$$,
    '22023', 'until: 2029-12-31 00:00:00+00 is not in the future', 'a pause until the past is refused'
);
select throws_ok(
    $$select dotq.fn_kind_pause('mail.send', 'bob', 'why', 'infinity')$$,
    '22023', 'until: infinity is not in the future', 'for ever is null, not infinity'
);
select throws_ok($$select dotq.fn_kind_pause('mail.send', 'bob', 'why', '-infinity')$$, '22023', null, 'minus infinity is refused');
select throws_ok($$select dotq.fn_kind_pause('mail.send', 'bob', 'why', '10000-01-01Z')$$, '22023', null, 'a year that clients cannot read is refused');
select results_eq('select * from dotq.job_kind order by job_kind', 'select * from before order by job_kind', 'a refusal changes no kind');
select is_empty(
    'select * from dotq.dot_config_audit where audit_id > (select audit_id from audited)', 'a refusal leaves no audit row'
);

select is(
    dotq.fn_kind_pause('mail.send', 'bob'),
    '{"ok": true, "job_kind": "mail.send", "paused": true, "until": null, "reason": null}',
    'a pause needs neither a reason nor an end'
);
select results_eq(
    $$select paused_at, paused_until, paused_by, pause_reason, updated_at from dotq.job_kind where job_kind = 'mail.send'$$,
    $$values (timestamptz '2030-01-01 12:00:00+00', null::timestamptz, 'bob', null::text, timestamptz '2030-01-01 12:00:00+00')$$,
    'the kind says since when it is paused, and by whom'
);
select is(dotq.fn_kind_claimable(array['mail.send'], '2031-01-01'), null, 'a paused kind is not claimed');
select results_eq(
    $$select * from dotq.job_kind where job_kind = 'other'$$, $$select * from before where job_kind = 'other'$$, 'no other kind is paused'
);

set local test.clock = '2030-01-01 13:00:00+00';
select is(
    dotq.fn_kind_pause('mail.send', 'carol', repeat('r', 1000), '2030-01-01 13:00:00.000001+00') - 'reason',
    '{"ok": true, "job_kind": "mail.send", "paused": true, "until": "2030-01-01T13:00:00.000001+00:00"}',
    'a paused kind can be paused anew, until a moment from now'
);
select results_eq(
    $$select paused_at, paused_until, paused_by, pause_reason, updated_at from dotq.job_kind where job_kind = 'mail.send'$$,
    $$values (
        timestamptz '2030-01-01 13:00:00+00', timestamptz '2030-01-01 13:00:00.000001+00', 'carol', repeat('r', 1000), timestamptz '2030-01-01 13:00:00+00'
    )$$,
    'the newest pause is the one that counts'
);
select is(dotq.fn_kind_pause('other', 'dora', 'too loud') ->> 'reason', 'too loud', 'the answer repeats the reason');
select results_eq(
    $$select key, old_value, new_value::jsonb - 'reason', changed_by from dotq.dot_config_audit where audit_id > (select audit_id from audited) order by audit_id$$,
    $$values
        ('kind:mail.send', null::text, '{"paused": true, "until": null}'::jsonb, 'bob'),
        ('kind:mail.send', null, '{"paused": true, "until": "2030-01-01T13:00:00.000001+00:00"}', 'carol'),
        ('kind:other', null, '{"paused": true, "until": null}', 'dora')$$,
    'each pause is one audit row under the name of who paused'
);
select is(
    (select new_value::jsonb ->> 'reason' from dotq.dot_config_audit where key = 'kind:other' order by audit_id desc limit 1),
    'too loud',
    'the audit keeps the reason'
);
set local role dotq_operator;
select is(dotq.fn_kind_pause('other', 'eve') ->> 'ok', 'true', 'an operator needs no rights on the tables');
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
    pg_temp.hint($$select dotq.fn_kind_pause('other', 'ann', null, '2020-01-01')$$),
    'Allowed: a finite time in the future, or null to pause until resumed.',
    'the hint says what is allowed'
);

select * from finish();
rollback;
