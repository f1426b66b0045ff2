begin;
select plan(5);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

select dotq.fn_config_set('queue.lease.duration_sec', '60', 'ann');
select dotq.fn_config_set('queue.lease.duration_sec', '90', 'bob');
select results_eq(
    $$ select key, old_value, new_value, changed_by, login = session_user from dotq.v_config_audit where changed_by in ('ann', 'bob') $$,
    $$ values ('queue.lease.duration_sec', '60', '90', 'bob', true), ('queue.lease.duration_sec', '300', '60', 'ann', true) $$,
    'each change is listed with the value before and after, who made it and under which login, newest first'
);
select dotq.fn_kind_set('mail', '{}', 'cid');
select is((select key from dotq.v_config_audit limit 1), 'kind:mail', 'a kind appears under its name');
select bag_eq(
    $$ select audit_id, changed_at, key, old_value, new_value, changed_by, login from dotq.v_config_audit $$,
    $$ select audit_id, changed_at, key, old_value, new_value, changed_by, login from dotq.dot_config_audit $$,
    'nothing of the audit is left out'
);
select results_eq(
    $$ select audit_id from dotq.v_config_audit $$, $$ select audit_id from dotq.dot_config_audit order by audit_id desc $$, 'the newest change comes first'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_config_audit', 'select')
    ),
    array['dotq_operator'],
    'operators may read it, nobody else'
);

select * from finish();
rollback;
