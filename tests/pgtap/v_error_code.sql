begin;
select plan(4);

select results_eq(
    $$ select code, name from dotq.v_error_code $$,
    $$ values
        ('22023', 'invalid_argument'), ('JQ001', 'gate_closed'), ('JQ002', 'job_not_found'), ('JQ003', 'lease_lost'), ('JQ004', 'wrong_state'),
        ('JQ005', 'kind_unknown'), ('JQ006', 'kind_disabled'), ('JQ007', 'payload_invalid'), ('JQ008', 'dead_letter_not_found'),
        ('JQ009', 'replay_conflict'), ('JQ010', 'already_triaged'), ('JQ011', 'setting_unknown'), ('JQ012', 'migration_edited'),
        ('JQ013', 'schema_newer'), ('JQ014', 'install_refused') $$,
    'the codes keep their names'
);
select is_empty(
    $$ select code from dotq.v_error_code where meaning !~ '^\w.*\.$' or remedy !~ '^\w.*\.$' $$,
    'each code has a meaning and a remedy, in whole sentences'
);
select columns_are('dotq', 'v_error_code', array['code', 'name', 'meaning', 'remedy'], 'the columns are named as documented');

-- Who may read it.
select is(
    (
        select array_agg(r order by r)
        from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
        where has_table_privilege(r, 'dotq.v_error_code', 'select')
    ),
    array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker'],
    'producers, workers, operators and readers may read it, nobody else'
);

select * from finish();
rollback;
