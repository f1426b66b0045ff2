begin;
select plan(10);

select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_kind_set('kept', '{"dedupe": "retained"}', 'test');
create temp table made on commit drop as
select
    (dotq.fn_job_enqueue('plain', 'test', 'k') ->> 'job_id')::uuid as plain,
    (dotq.fn_job_enqueue('kept', 'test', 'k') ->> 'job_id')::uuid as kept,
    (dotq.fn_job_enqueue('plain', 'test') ->> 'job_id')::uuid as keyless;

select results_eq(
    $$select job_id, state from dotq.fn_job_by_key('plain', 'k')$$, $$select plain, 'queued' from made$$,
    'an active job holds its key'
);
select is_empty($$select * from dotq.fn_job_by_key('plain', 'K')$$, 'another key is free');
select is_empty($$select * from dotq.fn_job_by_key('other', 'k')$$, 'the key of one kind is free in another');
select is_empty(
    $$select made.keyless from made, dotq.fn_job_by_key('plain', made.keyless::text)$$,
    'a job without a key holds none, not even its own id'
);
select is_empty($$select taken.* from made, dotq.fn_job_by_key('plain', 'k', made.plain) as taken$$, 'a job does not hold its key against itself');
select is_empty($$select * from dotq.fn_job_by_key('plain', null)$$, 'nobody holds no key');

select dotq.fn_job_cancel(plain, 'test') from made;
select dotq.fn_job_ack(job_id, lease) from dotq.fn_job_claim_many('w', 1, p_allowed_kinds => array['kept']);

select is_empty($$select * from dotq.fn_job_by_key('plain', 'k')$$, 'the key is free when its job has ended');
select results_eq(
    $$select job_id, state from dotq.fn_job_by_key('kept', 'k')$$, $$select kept, 'succeeded' from made$$,
    'unless the kind retains its keys'
);
select is_empty($$select * from dotq.fn_job_by_key('kept', 'another')$$, 'a retained key is that one key');
select is(
    (select array_agg(grantee::regrole::text) from pg_proc, aclexplode(proacl) where oid = 'dotq.fn_job_by_key'::regproc),
    array['dotq_owner'],
    'it is a helper: no run-time role may call it'
);

select * from finish();
rollback;
