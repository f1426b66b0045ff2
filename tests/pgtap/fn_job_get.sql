begin;
select plan(12);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_get'::regproc, 'execute')
    ),
    array['dotq_producer', 'dotq_worker', 'dotq_operator'],
    'producers, workers and operators may look at a job; a reader, who sees no payloads, may not'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_get'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);
select is((select provolatile from pg_proc where oid = 'dotq.fn_job_get'::regproc), 's', 'looking changes nothing');

select pg_temp.waiting('waiting');
select is(
    dotq.fn_job_get(pg_temp.id('waiting')),
    pg_temp.job('waiting') || '{"lease": null, "dead_letter_id": null, "replayed_as": null}',
    'a waiting job has all its columns, no lease and no dead letter'
);
select pg_temp.leased('leased');
select is(
    dotq.fn_job_get(pg_temp.id('leased')),
    pg_temp.job('leased') || jsonb_build_object('lease', pg_temp.lease('leased'), 'dead_letter_id', null, 'replayed_as', null),
    'a leased job has its lease handle'
);
select dotq.fn_job_move_to_dead_letter(pg_temp.id('leased'), 'boom', 'ann');
create temp table letter as
select d.dead_letter_id, pg_temp.id('leased') as job_id, (dotq.fn_dead_letter_replay(d.dead_letter_id, 'ann') ->> 'job_id')::uuid as replay
from dotq.job_dead_letter as d;
select is(
    (select dotq.fn_job_get(job_id) - array['dead_letter_id', 'replayed_as', 'lease'] from letter),
    (select to_jsonb(q) from dotq.job_queue as q join letter using (job_id)),
    'a dead job has all its columns'
);
select is(
    (select dotq.fn_job_get(job_id) from letter) -> 'dead_letter_id', (select to_jsonb(dead_letter_id) from letter), 'a dead job has its dead letter'
);
select is(
    (select dotq.fn_job_get(job_id) from letter) -> 'replayed_as', (select to_jsonb(replay) from letter), 'and the job that replays it'
);
select is(dotq.fn_job_get((select job_id from letter)) -> 'lease', 'null', 'but no lease any more');
select throws_ok($$select dotq.fn_job_get(null)$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_get('00000000-0000-7000-8000-000000000000')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
grant select on letter to dotq_producer;
set local role dotq_producer;
select is((select dotq.fn_job_get(job_id) ->> 'state' from letter), 'dead_letter', 'a producer can follow its job without rights on the tables');
reset role;

select * from finish();
rollback;
