begin;
select plan(9);

\ir support/clock.psql
set local test.clock = '2030-01-01 12:00:00+00';

insert into dotq.job_queue (job_kind, idempotency_key, actor, updated_at)
values ('mail', 'by hand', 'test', '2029-01-01 00:00:00+00'), ('mail', 'untouched', 'test', '2029-01-01 00:00:00+00');
insert into dotq.queue_heartbeat (executor_name, executor_kind, updated_at) values ('agent', 'Agent', '2029-01-01 00:00:00+00');

update dotq.job_queue set priority = 7 where idempotency_key = 'by hand';
select is(
    (select jsonb_build_array(priority, updated_at) from dotq.job_queue where idempotency_key = 'by hand'),
    jsonb_build_array(7, timestamptz '2030-01-01 12:00:00+00'),
    'a job changed by hand says when, and keeps the change'
);
select is(
    (select updated_at from dotq.job_queue where idempotency_key = 'untouched'), '2029-01-01 00:00:00+00', 'a job that was not changed says nothing'
);
update dotq.job_queue set updated_at = '2029-06-01 00:00:00+00' where idempotency_key = 'by hand';
select is(
    (select updated_at from dotq.job_queue where idempotency_key = 'by hand'), '2029-06-01 00:00:00+00',
    'an update of a job that brings its own time keeps it'
);
update dotq.queue_heartbeat set ticks_total = 9 where executor_name = 'agent';
select is(
    (select jsonb_build_array(ticks_total, updated_at) from dotq.queue_heartbeat where executor_name = 'agent'),
    jsonb_build_array(9, timestamptz '2030-01-01 12:00:00+00'),
    'a heartbeat changed by hand says when, and keeps the change'
);
update dotq.queue_heartbeat set updated_at = '2029-06-01 00:00:00+00' where executor_name = 'agent';
select is(
    (select updated_at from dotq.queue_heartbeat where executor_name = 'agent'), '2029-06-01 00:00:00+00',
    'an update of a heartbeat that brings its own time keeps it'
);

-- What fires it.
select trigger_is(
    'dotq', 'job_queue', 'tr_job_queue_updated_at', 'dotq', 'fn_job_queue_updated_at', 'the jobs have the trigger'
);
select trigger_is(
    'dotq', 'queue_heartbeat', 'tr_queue_heartbeat_updated_at', 'dotq', 'fn_job_queue_updated_at', 'the heartbeats have the trigger'
);
select is_empty(
    $$ select r from unnest(array['dotq_operator', 'dotq_producer', 'dotq_reader', 'dotq_worker', 'public']) as r
       where has_function_privilege(r, 'dotq.fn_job_queue_updated_at'::regproc, 'execute') $$,
    'nobody may call it directly'
);
select isnt_definer('dotq', 'fn_job_queue_updated_at', 'it runs with the rights of its caller');

select * from finish();
rollback;
