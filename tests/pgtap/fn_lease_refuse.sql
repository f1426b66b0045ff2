begin;
select plan(12);

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_lease_refuse'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is((select prosecdef from pg_proc where oid = 'dotq.fn_lease_refuse'::regproc), false, 'it works with the rights of whoever calls it');
select is((select provolatile from pg_proc where oid = 'dotq.fn_lease_refuse'::regproc), 'v', 'it may answer differently each time');

insert into dotq.job_queue (job_id, job_kind, actor, idempotency_key, state, lease_owner, lease_until, lease_token, finished_at)
values
    ('00000000-0000-7000-8000-000000000001', 'k', 'a', 'one', 'leased', 'bob', now(), 42, null),
    ('00000000-0000-7000-8000-000000000002', 'k', 'a', 'two', 'succeeded', null, null, 41, now()),
    ('00000000-0000-7000-8000-000000000003', 'k', 'a', 'three', 'queued', null, null, null, null);
create temp table before as select * from dotq.job_queue;

select throws_ok($$select dotq.fn_lease_refuse(null, 'ann#1')$$, '22023', 'job_id: is required', 'no job id is a bad argument');
select throws_ok(
    $$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000009', 'ann#1')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000009 does not exist', 'a job that does not exist is named'
);
select throws_ok(
    $$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000001', 'ann#1')$$,
    'JQ003', 'the lease ''ann#1'' on job 00000000-0000-7000-8000-000000000001 is not current: it is held by bob', 'who has the job is named, without the token'
);
select throws_ok(
    $$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000001', 'bob#41')$$,
    'JQ003', 'the lease ''bob#41'' on job 00000000-0000-7000-8000-000000000001 is not current: it is held by bob under a newer lease',
    'a worker that lost the job and got it again is told so'
);
select throws_ok(
    $$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000002', 'ann#1')$$,
    'JQ003', 'the lease ''ann#1'' on job 00000000-0000-7000-8000-000000000002 is not current: the job is succeeded', 'a job that has ended says so'
);
select throws_ok(
    $$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000003', 'ann')$$,
    'JQ003', 'the lease ''ann'' on job 00000000-0000-7000-8000-000000000003 is not current: the job is queued', 'a job that waits again says so'
);
select results_eq(
    'select * from dotq.job_queue order by job_id', 'select * from before order by job_id', 'a refusal changes no job'
);

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
    pg_temp.hint($$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000001', 'ann')$$),
    'Drop the result: another worker has the job.',
    'the hint says what to do when another worker has the job'
);
select is(
    pg_temp.hint($$select dotq.fn_lease_refuse('00000000-0000-7000-8000-000000000002', 'ann')$$),
    'Drop the result: another worker has the job or will get it, or it has ended.',
    'the hint says what to do when nobody has it'
);

select * from finish();
rollback;
