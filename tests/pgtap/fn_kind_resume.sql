begin;
select plan(0);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_kind_resume'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'only an operator may call it'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_kind_resume'::regproc), true, 'it works with the rights of its owner');
select is((select provolatile from pg_proc where oid = 'dotq.fn_kind_resume'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_kind (job_kind, registered_by, paused_at, paused_until, paused_by, pause_reason, updated_at)
values
    ('paused', 'ann', '2030-01-01', '2031-01-01', 'bob', 'why', '2030-01-01'),
    ('lapsed', 'ann', '2029-01-01', '2029-01-02', 'bob', 'why', '2030-01-01'),
    ('also', 'ann', '2030-01-01', null, 'bob', null, '2030-01-01'),
    ('open', 'ann', null, null, null, null, '2030-01-01');
create temp table before as select * from dotq.job_kind;
create temp table audited as select coalesce(max(audit_id), 0) as audit_id from dotq.dot_config_audit;

select throws_ok($$select dotq.fn_kind_resume('unknown', 'bob')$$, 'JQ005', 'kind: ''unknown'' is not registered', 'a kind that is not registered is refused');
select throws_ok($$select dotq.fn_kind_resume(null, 'bob')$$, '22023', 'kind: is required', 'no kind is refused');
select throws_ok($$select dotq.fn_kind_resume(repeat('k', 201), 'bob')$$, '22023', 'kind: is 201 characters long', 'a kind of 201 characters is refused');
select throws_ok($$select dotq.fn_kind_resume('paused', null)$$, '22023', 'actor: is required', 'nobody resumes a kind without a name');
select throws_ok($$select dotq.fn_kind_resume('paused', ' ')$$, '22023', 'actor: must not be blank', 'a blank name is no name');
select throws_ok($$select dotq.fn_kind_resume('paused', repeat('a', 201))$$, '22023', 'actor: is 201 characters long', 'a name of 201 characters is refused');
select results_eq('select * from dotq.job_kind order by job_kind', 'select * from before order by job_kind', 'a refusal changes no kind');

select is(
    dotq.fn_kind_resume('open', 'carol'),
    '{"ok": true, "job_kind": "open", "paused": false, "was_paused": false}',
    'resuming what is not paused succeeds and says so'
);
select results_eq(
    $$select * from dotq.job_kind where job_kind = 'open'$$, $$select * from before where job_kind = 'open'$$, 'what is not paused is not touched'
);
select is_empty(
    'select * from dotq.dot_config_audit where audit_id > (select audit_id from audited)', 'neither a refusal nor a resume without a pause is audited'
);
select is(
    dotq.fn_kind_resume('paused', 'carol'),
    '{"ok": true, "job_kind": "paused", "paused": false, "was_paused": true}',
    'resuming a paused kind says that it was paused'
);
select results_eq(
    $$select paused_at, paused_until, paused_by, pause_reason, updated_at from dotq.job_kind where job_kind = 'paused'$$,
    $$values (null::timestamptz, null::timestamptz, null::text, null::text, timestamptz '2030-01-01 12:00:00+00')$$,
    'nothing of the pause is left'
);
select is(dotq.fn_kind_claimable(array['paused'], '2030-01-01 12:00:00+00'), array['paused'], 'a resumed kind is claimed again');
select is(
    (select paused_at from dotq.job_kind where job_kind = 'also'), timestamptz '2030-01-01', 'no other kind is resumed'
);
select results_eq(
    'select key, old_value, new_value, changed_by from dotq.dot_config_audit where audit_id > (select audit_id from audited)',
    $$values ('kind:paused', null::text, '{"paused": false}', 'carol')$$,
    'a resume is one audit row under the name of who resumed'
);
select is(dotq.fn_kind_resume('lapsed', 'carol') ->> 'was_paused', 'true', 'a pause that is over is cleared too');
set local role dotq_operator;
select is(dotq.fn_kind_resume('also', 'dora') ->> 'was_paused', 'true', 'an operator needs no rights on the tables');
reset role;

select * from finish();
rollback;
