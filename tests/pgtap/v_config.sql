begin;
select plan(10);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

create temp table installed as select * from dotq.v_config;
select results_eq(
    $$ select key from dotq.v_config $$, $$ select key from dotq.fn_config_spec() order by key $$, 'every setting is listed once, by name'
);
select is_empty(
    $$ select key from installed where value is distinct from effective or not readable $$, 'after an install every stored value counts as it is'
);
select is(
    (select to_jsonb(c) - 'description' - 'updated_at' - 'updated_by' from dotq.v_config as c where key = 'queue.lease.duration_sec'),
    '{"key": "queue.lease.duration_sec", "value": "300", "effective": "300", "value_type": "integer", "allowed": "1 to 604800", "readable": true,
      "is_gate": false}',
    'a number shows its value and its range'
);
select is(
    (select to_jsonb(c) - 'description' - 'updated_at' - 'updated_by' from dotq.v_config as c where key = 'queue.claim.enabled'),
    '{"key": "queue.claim.enabled", "value": "true", "effective": "true", "value_type": "boolean", "allowed": "true or false", "readable": true,
      "is_gate": true}',
    'a gate shows that it is open'
);
select results_eq(
    $$ select key from dotq.v_config where not is_gate and value_type = 'boolean' $$, array['queue.kind.strict'], 'a switch that is no gate is told apart'
);
select is_empty($$ select key from installed where btrim(coalesce(description, '')) = '' $$, 'every setting says what it is for');

select dotq.fn_config_set('queue.lease.duration_sec', '60', 'ann');
select results_eq(
    $$ select value, effective, updated_at, updated_by from dotq.v_config where key = 'queue.lease.duration_sec' $$,
    $$ values ('60', '60', timestamptz '2030-01-01 12:00:00+00', 'ann') $$,
    'a change shows, with who made it and when'
);
update dotq.dot_config set value = 'maybe' where key = 'queue.claim.enabled';
update dotq.dot_config set value = '0' where key = 'queue.lease.max_sec';
delete from dotq.dot_config where key = 'queue.kind.strict';
select results_eq(
    $$ select key, value, effective, readable from dotq.v_config where not readable $$,
    $$ values ('queue.claim.enabled', 'maybe', 'false', false), ('queue.kind.strict', null, 'true', false), ('queue.lease.max_sec', '0', '86400', false) $$,
    'a value that is unreadable, missing or out of range shows beside the safe one that counts'
);
update dotq.dot_config set value = ' YES ' where key = 'queue.claim.enabled';
select is(
    (select effective from dotq.v_config where key = 'queue.claim.enabled'), 'true', 'a value that was written by hand shows as it counts'
);

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_config', 'select')
    ),
    array['dotq_operator', 'dotq_reader', 'dotq_worker'],
    'workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
