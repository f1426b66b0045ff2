begin;
select plan(15);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.told(p_key text)
returns text
language sql
as $fn$
select string_agg(concat_ws(' | ', to_char(t.at, 'HH24:MI:SS'), t.event, coalesce(t.actor, '-'), coalesce(nullif(t.detail, ''), '-')), E'\n' order by t.place)
from dotq.fn_job_timeline(pg_temp.id(p_key)) with ordinality as t (at, event, actor, detail, place)
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_timeline'::regproc, 'execute')
    ),
    array['dotq_operator'],
    'operators may read a timeline with its errors, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_timeline'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);
select is((select provolatile from pg_proc where oid = 'dotq.fn_job_timeline'::regproc), 's', 'reading changes nothing');

select pg_temp.waiting('mine');
select dotq.fn_job_enqueue('other', 'cid', 'other');
select is(pg_temp.told('mine'), '12:00:00 | enqueued | ann | priority 100', 'a new job was enqueued, by whom and how urgent');
set local test.clock = '2030-01-01 12:00:10+00';
select dotq.fn_job_claim('w1', 60, array['mine']);
select is(
    pg_temp.told('mine'),
    '12:00:00 | enqueued | ann | priority 100
12:00:10 | claimed | w1 | attempt 1 of 5
12:01:10 | lease ends | w1 | unless it is renewed',
    'a leased job shows who claimed it, for which attempt, and when the lease ends'
);
set local test.clock = '2030-01-01 12:00:20+00';
select dotq.fn_job_start(pg_temp.id('mine'), 'w1');
select is(
    (select array_agg(at || ' ' || event || coalesce(actor, '') || coalesce(detail, '')) from dotq.fn_job_timeline(pg_temp.id('mine')) where event = 'first started'),
    array['2030-01-01 12:00:20+00 first started'],
    'a started job shows its start'
);
set local test.clock = '2030-01-01 12:00:30+00';
select dotq.fn_job_fail_or_retry(pg_temp.id('mine'), 'w1', 'boom');
select is(
    pg_temp.told('mine'),
    '12:00:00 | enqueued | ann | priority 100
12:00:10 | claimed | - | attempt 1 of 5
12:00:20 | first started | - | -
12:00:30 | retry planned | - | due 2030-01-01 12:00:40 UTC: boom',
    'a failed attempt shows when the next is due and what went wrong'
);
set local test.clock = '2030-01-01 12:00:40+00';
select dotq.fn_job_claim('w2', 60, array['mine']);
set local test.clock = '2030-01-01 12:00:45+00';
select dotq.fn_job_cancel(pg_temp.id('mine'), 'bob', 'too slow');
set local test.clock = '2030-01-01 12:00:50+00';
select dotq.fn_job_start(pg_temp.id('mine'), 'w2');
select is(
    pg_temp.told('mine'),
    '12:00:00 | enqueued | ann | priority 100
12:00:20 | first started | - | -
12:00:40 | claimed | w2 | attempt 2 of 5
12:00:45 | cancel requested | bob | -
12:01:40 | lease ends | w2 | unless it is renewed',
    'the first start and the newest claim are shown, and a cancel request in its place in time'
);
select dotq.fn_job_release(pg_temp.id('mine'), 'w2');
select is(
    (select jsonb_agg(to_jsonb(t)) from dotq.fn_job_timeline(pg_temp.id('mine')) as t where t.event = 'cancelled'),
    '[{"at": "2030-01-01T12:00:50+00:00", "event": "cancelled", "actor": null, "detail": "cancelled by bob: too slow"}]',
    'a job that has ended shows how and when'
);

-- A dead letter, all at one moment: the order of what can happen is the order of the rows.
select dotq.fn_job_claim('w1', 60, array['other']);
select dotq.fn_job_start(pg_temp.id('other'), 'w1');
select dotq.fn_job_cancel(pg_temp.id('other'), 'dan');
select dotq.fn_job_move_to_dead_letter(pg_temp.id('other'), 'poison', 'bob');
select dotq.fn_dead_letter_triage(dead_letter_id, 'acknowledged', 'eve', 'looking') from dotq.job_dead_letter;
update dotq.job_queue set created_at = dotq.fn_clock_now() where idempotency_key = 'other';
select is(
    pg_temp.told('other'),
    '12:00:50 | enqueued | cid | priority 100
12:00:50 | claimed | - | attempt 1 of 5
12:00:50 | first started | - | -
12:00:50 | cancel requested | dan | -
12:00:50 | dead_letter | - | poison
12:00:50 | became a dead letter | bob | moved
12:00:50 | triaged: acknowledged | eve | looking',
    'a dead job shows its dead letter and its triage'
);
create temp table replay as
select d.job_id, (dotq.fn_dead_letter_replay(d.dead_letter_id, 'fay') ->> 'job_id')::uuid as new_id from dotq.job_dead_letter as d;
select is(
    (select t.actor || ': ' || t.detail from replay, dotq.fn_job_timeline(job_id) as t where t.event like 'triaged: %'),
    (select 'fay: looking: replayed as ' || new_id from replay),
    'a replayed one names the new job'
);
select is(
    (select t.detail from replay, dotq.fn_job_timeline(new_id) as t where t.event = 'enqueued'),
    (select 'priority 100, replay of ' || job_id from replay),
    'and the new job names the old one'
);

select throws_ok($$select dotq.fn_job_timeline(null)$$, '22023', 'job_id: is required', 'the job id is required');
select throws_ok(
    $$select dotq.fn_job_timeline('00000000-0000-7000-8000-000000000000')$$,
    'JQ002', 'job 00000000-0000-7000-8000-000000000000 does not exist', 'an unknown job is refused by its id'
);
grant select on replay to dotq_operator;
set local role dotq_operator;
select isnt_empty($$select t.* from replay, dotq.fn_job_timeline(new_id) as t$$, 'an operator can read it without rights on the tables');
reset role;

select * from finish();
rollback;
