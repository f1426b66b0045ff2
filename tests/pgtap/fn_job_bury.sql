begin;
select plan(9);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
create function pg_temp.bury(p_key text, p_crash_count integer, p_state text, p_cause text, p_error text, p_by text)
returns uuid
language plpgsql
as $fn$
declare
    l_job dotq.job_queue;
begin
    select * into l_job from dotq.job_queue where idempotency_key = p_key;
    l_job.crash_count := p_crash_count;
    return dotq.fn_job_bury(l_job, p_state, p_cause, p_error, p_by);
end
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_bury'::regproc, 'execute')
    ),
    array[]::text[],
    'no role may call it directly'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_bury'::regproc),
    false,
    'it works with the rights of the function that calls it'
);

select dotq.fn_job_enqueue(
    'report', 'ann', 'rich', '{"n": 7}', 'from', 'to', 'blob', 3, null, 4, '00000000-0000-4000-8000-000000000001'
);
update dotq.job_queue
set metadata = '{"tag": "x"}', affinity_key = 'room', workflow_id = '00000000-0000-4000-8000-000000000002'
where idempotency_key = 'rich';
select dotq.fn_job_claim_many('w1', 1, 60, array['report'], array['room']);
select pg_temp.remember('rich');
select pg_temp.leased('bystander');
set local test.clock = '2030-01-01 12:00:10+00';

create temp table buried as select pg_temp.bury('rich', 2, 'dead_letter', 'crashed', 'gave up at 17', 'reaper') as id;
select is(
    pg_temp.job('rich'),
    pg_temp.was('rich') || '{
        "state": "dead_letter", "finished_at": "2030-01-01T12:00:10+00:00", "lease_owner": null, "lease_until": null,
        "last_error": "gave up at 17", "crash_count": 2, "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the job ends with the given state, error and crashes, and keeps everything else'
);
select is(
    (select to_jsonb(d) from dotq.job_dead_letter as d where d.job_id = pg_temp.id('rich')),
    jsonb_build_object(
        'dead_letter_id', (select id from buried), 'job_id', pg_temp.id('rich'),
        'error_fingerprint', dotq.fn_error_fingerprint('gave up at 17')
    ) || '{
        "job_kind": "report", "source_ref": "from", "target_ref": "to", "payload_ref": "blob", "payload_json": {"n": 7},
        "final_error": "gave up at 17", "attempts": 1, "actor": "ann", "run_id": "00000000-0000-4000-8000-000000000001",
        "idempotency_key": "rich", "moved_at": "2030-01-01T12:00:10+00:00", "moved_by": "reaper", "triage_status": "pending",
        "triage_note": null, "triaged_at": null, "triaged_by": null, "cause": "crashed", "priority": 3, "max_attempts": 4,
        "crash_count": 2, "metadata": {"tag": "x"}, "affinity_key": "room",
        "workflow_id": "00000000-0000-4000-8000-000000000002", "job_created_at": "2030-01-01T12:00:00+00:00", "replayed_as": null
    }',
    'the dead letter has all that triage and a replay need, and its id is returned'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'no other job is touched');

select pg_temp.waiting('refused');
select pg_temp.bury('refused', 0, 'failed', 'not_retryable', 'no', 'w1');
select is(
    (
        select jsonb_build_array(q.state, d.cause, d.moved_by, d.crash_count)
        from dotq.job_queue as q join dotq.job_dead_letter as d using (job_id)
        where q.idempotency_key = 'refused'
    ),
    '["failed", "not_retryable", "w1", 0]',
    'a job can be buried as failed, for another cause, by somebody else'
);
select throws_ok(
    $$select pg_temp.bury('bystander', 0, 'dead_letter', 'bored', 'no', 'w1')$$,
    '23514', null, 'a cause that triage does not know is refused'
);
select throws_ok(
    $$select pg_temp.bury('bystander', 0, 'queued', 'moved', 'no', 'w1')$$,
    '23514', null, 'a job is not buried into a state that goes on'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'a refusal leaves the job as it was');

select * from finish();
rollback;
