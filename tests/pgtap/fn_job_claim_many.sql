begin;
select plan(59);

set local timezone = 'UTC';
set local test.clock = '2030-01-01 12:00:00+00';

\ir support/clock.psql
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
\ir support/jobs.psql
-- The keys a claim returned, in the order in which it returned them.
create function pg_temp.claim(
    p_limit integer default 100, p_kinds text[] default null, p_affinity_keys text[] default null, p_worker text default 'w1'
)
returns text[]
language sql
as $fn$
select coalesce(array_agg(c.idempotency_key order by c.place), '{}')
from dotq.fn_job_claim_many(p_worker, p_limit, 60, p_kinds, p_affinity_keys)
    with ordinality as c (
        job_id, job_kind, attempts, max_attempts, payload_json, lease, lease_until, priority, scheduled_at, created_at,
        idempotency_key, actor, source_ref, target_ref, payload_ref, run_id, workflow_id, replay_of, affinity_key, metadata,
        progress, checkpoint, crash_count, last_error, place
    )
$fn$;

create function pg_temp.add(p_key text, p_affinity_key text)
returns void
language sql
as $fn$
select dotq.fn_job_insert(k, 'ann', p_key, '{}', null, null, null, null, null, null, null, p_affinity_key => p_affinity_key)
from dotq.fn_kind_resolve('room', 'ann') as k
$fn$;

select is(
    array(
        select role
        from unnest(array['public', 'dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader']) as role
        where has_function_privilege(role, 'dotq.fn_job_claim_many'::regproc, 'execute')
    ),
    array['dotq_worker', 'dotq_operator'],
    'workers and operators may claim, nobody else'
);
select is(
    (select prosecdef from pg_proc where oid = 'dotq.fn_job_claim_many'::regproc),
    true,
    'it works with the rights of the owner, not of the caller'
);
select ok(
    (select proconfig @> array['plan_cache_mode=force_generic_plan', 'enable_seqscan=off'] from pg_proc where oid = 'dotq.fn_job_claim_many'::regproc),
    'its plans do not depend on how full the queue was when the session made them'
);
select is(pg_temp.claim(), '{}', 'nothing is claimed from an empty queue');

-- One job, all of it.
select dotq.fn_kind_set('report', '{"lease_seconds": 45}', 'ann');
select dotq.fn_job_insert(
    k, 'ann', 'rich', '{"n": 7}', 'from', 'to', 'blob', 3, null, 4, '00000000-0000-4000-8000-000000000001', '{"tag": "x"}', 'room-1',
    '00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003'
)
from dotq.fn_kind_resolve('report', 'ann') as k;
update dotq.job_queue
set progress = '10', checkpoint = '{"page": 2}', last_error = 'earlier', crash_count = 1, started_at = '2029-12-31 00:00:00+00', attempts = 1
where idempotency_key = 'rich';
select pg_temp.remember('rich');
select pg_temp.waiting('bystander');
set local test.clock = '2030-01-01 12:00:10+00';
create temp table claimed as select * from dotq.fn_job_claim_many('w1', 5, null, array['report'], array['room-1']);
select is(
    (select jsonb_agg(to_jsonb(c)) from claimed as c),
    jsonb_build_array(jsonb_build_object('job_id', pg_temp.id('rich'), 'lease', 'w1#' || (pg_temp.job('rich') ->> 'lease_token')) || '{
        "job_kind": "report", "attempts": 2, "max_attempts": 4, "payload_json": {"n": 7}, "lease_until": "2030-01-01T12:00:55+00:00",
        "priority": 3, "scheduled_at": "2030-01-01T12:00:00+00:00", "created_at": "2030-01-01T12:00:00+00:00",
        "idempotency_key": "rich", "actor": "ann", "source_ref": "from", "target_ref": "to", "payload_ref": "blob",
        "run_id": "00000000-0000-4000-8000-000000000001", "workflow_id": "00000000-0000-4000-8000-000000000002",
        "replay_of": "00000000-0000-4000-8000-000000000003", "affinity_key": "room-1", "metadata": {"tag": "x"},
        "progress": 10, "checkpoint": {"page": 2}, "crash_count": 1, "last_error": "earlier"
    }'),
    'a claimed job comes with all that its handler may need, and with its lease handle'
);
select is(
    pg_temp.job('rich') - 'lease_token',
    pg_temp.was('rich') - 'lease_token' || '{
        "state": "leased", "attempts": 2, "picked_at": "2030-01-01T12:00:10+00:00", "lease_owner": "w1",
        "lease_seconds": 45, "lease_until": "2030-01-01T12:00:55+00:00", "updated_at": "2030-01-01T12:00:10+00:00"
    }',
    'the claim counts the attempt, sets the lease as long as the kind says, and keeps everything else'
);
select is(pg_temp.job('bystander'), pg_temp.was('bystander'), 'a job of another kind is left alone');
select is(pg_temp.claim(p_affinity_keys => array['room-1']), array['bystander'], 'a leased job is not claimed again');

-- The length of a lease.
select pg_temp.waiting('by-setting');
select dotq.fn_config_set('queue.lease.duration_sec', '77', 'test');
select dotq.fn_job_claim_many('w1', 1, null, array['by-setting']);
select is(pg_temp.job('by-setting') -> 'lease_seconds', '77', 'when neither caller nor kind says, queue.lease.duration_sec is the length');
select is(pg_temp.job('by-setting') ->> 'lease_until', '2030-01-01T12:01:27+00:00', 'and the lease ends then');
select dotq.fn_kind_set('by-caller', '{"lease_seconds": 45}', 'ann');
select pg_temp.waiting('by-caller');
select dotq.fn_job_claim_many('w1', 1, 86400, array['by-caller']);
select is(pg_temp.job('by-caller') -> 'lease_seconds', '86400', 'the caller''s length comes before the kind''s');
select is(pg_temp.job('by-caller') ->> 'lease_until', '2030-01-02T12:00:10+00:00', 'up to queue.lease.max_sec');
select dotq.fn_kind_set('by-kind', '{"lease_seconds": 90000}', 'ann');
select pg_temp.waiting('by-kind');
select dotq.fn_job_claim_many('w1', 1, null, array['by-kind']);
select is(pg_temp.job('by-kind') -> 'lease_seconds', '86400', 'no kind gets a longer one either');
select is(pg_temp.job('by-kind') ->> 'lease_until', '2030-01-02T12:00:10+00:00', 'and its lease ends then');

-- Order and limit.
select dotq.fn_job_enqueue('mail', 'ann', 'low', p_priority => 200);
select dotq.fn_job_enqueue('mail', 'ann', 'c', p_scheduled_at => '2030-01-01 12:00:20+00');
select dotq.fn_job_enqueue('mail', 'ann', 'b', p_scheduled_at => '2030-01-01 12:00:20+00');
select dotq.fn_job_enqueue('mail', 'ann', 'a', p_scheduled_at => '2030-01-01 12:00:20+00');
select dotq.fn_job_enqueue('mail', 'ann', 'older', p_scheduled_at => '2030-01-01 12:00:19.999999+00');
select dotq.fn_job_enqueue('sms', 'ann', 'urgent', p_priority => 0, p_scheduled_at => '2030-01-01 12:00:21+00');
update dotq.job_queue
set job_id = ('00000000-0000-7000-8000-00000000000' || idempotency_key)::uuid
where idempotency_key in ('a', 'b', 'c');
set local test.clock = '2030-01-01 12:00:21+00';
-- A join that shuffles the chosen rows must not shuffle the answer.
set local enable_nestloop = off;
set local enable_hashjoin = off;
discard plans;
select is(pg_temp.claim(2), array['urgent', 'older'], 'a claim of two never returns three, and begins with the lowest priority, then the longest due');
select is(pg_temp.claim(3), array['a', 'b', 'c'], 'jobs due at the same moment come in the order of their ids');
reset enable_nestloop;
reset enable_hashjoin;
discard plans;
select is(
    (select array_agg(idempotency_key order by idempotency_key) from dotq.job_queue where state = 'queued'), array['low'], 'what was not asked for stays queued'
);
select is(pg_temp.claim(10000), array['low'], 'a claim of more than there are returns what there is');
select is(
    (
        select array_agg(q.idempotency_key order by q.lease_token)
        from dotq.job_queue as q
        where q.lease_owner is not null
    ) @> array['a', 'b', 'c', 'low', 'older', 'urgent'],
    true,
    'every claimed job is held'
);
select is(
    (select count(distinct lease_token) from dotq.job_queue where lease_owner is not null),
    (select count(*) from dotq.job_queue where lease_owner is not null),
    'no two leases have the same token'
);
create temp table first_lease as select pg_temp.lease('low') as lease;
select dotq.fn_job_release(pg_temp.id('low'), 'w1');
select pg_temp.claim();
select cmp_ok(
    split_part(pg_temp.lease('low'), '#', 2)::bigint, '>', (select split_part(lease, '#', 2)::bigint from first_lease),
    'a later lease of the same job has a higher token'
);

-- Due or not. The leases so far are made long, so that none of them runs out below.
update dotq.job_queue set lease_until = '2031-01-01 00:00:00+00' where lease_until is not null;
set local test.clock = '2030-01-01 13:00:00+00';
select dotq.fn_job_enqueue('due', 'ann', 'now', p_scheduled_at => '2030-01-01 13:00:00+00');
select dotq.fn_job_enqueue('due', 'ann', 'soon', p_scheduled_at => '2030-01-01 13:00:00.000001+00');
select is(pg_temp.claim(p_kinds => array['due']), array['now'], 'a job due at this very moment is claimed, one due a microsecond later is not');
select dotq.fn_job_fail_or_retry(pg_temp.id('now'), 'w1', 'boom');
set local test.clock = '2030-01-01 13:00:09.999999+00';
select is(pg_temp.claim(p_kinds => array['due']), array['soon'], 'a job whose backoff is not over is not claimed');
set local test.clock = '2030-01-01 13:00:10+00';
select is(pg_temp.claim(p_kinds => array['due']), array['now'], 'a job whose backoff is over is claimed');

-- Only jobs that wait.
update dotq.job_queue set lease_until = '2031-01-01 00:00:00+00' where lease_until is not null;
select dotq.fn_job_start(pg_temp.id('now'), 'w1');
select dotq.fn_job_ack(pg_temp.id('a'), 'w1');
select dotq.fn_job_fail_or_retry(pg_temp.id('b'), 'w1', 'boom', false);
select dotq.fn_job_move_to_dead_letter(pg_temp.id('c'), 'boom', 'ann');
select dotq.fn_job_release(pg_temp.id('soon'), 'w1');
select dotq.fn_job_cancel(pg_temp.id('soon'), 'ann');
select is(pg_temp.claim(), '{}', 'jobs that are held, finished, failed, dead or cancelled are not claimed');

-- Kinds.
select pg_temp.waiting('k1');
select pg_temp.waiting('k2');
select pg_temp.waiting('k3');
select is(pg_temp.claim(p_kinds => array['k1', 'k3', 'unheard-of']), array['k1', 'k3'], 'only jobs of the allowed kinds are claimed');
select is(pg_temp.claim(p_kinds => array['unheard-of']), '{}', 'an unknown kind has no jobs');
select dotq.fn_kind_pause('k2', 'ann', p_until => '2030-01-01 13:00:20+00');
set local test.clock = '2030-01-01 13:00:19.999999+00';
select is(pg_temp.claim(), '{}', 'jobs of a paused kind are not claimed');
set local test.clock = '2030-01-01 13:00:20+00';
select is(pg_temp.claim(), array['k2'], 'they are when the pause is over');
select pg_temp.waiting('k4');
select dotq.fn_kind_pause('k4', 'ann');
select is(pg_temp.claim(p_kinds => array['k4']), '{}', 'a pause without an end does not end by itself');
select dotq.fn_kind_resume('k4', 'ann');
select dotq.fn_kind_set('k4', '{"enabled": false}', 'ann');
select is(pg_temp.claim(p_kinds => array['k4']), '{}', 'jobs of a disabled kind are not claimed');

-- Affinity.
select pg_temp.add('room-a', 'a');
select pg_temp.add('room-b', 'b');
select pg_temp.add('any-1', null);
select is(pg_temp.claim(), array['any-1'], 'a job with an affinity key goes only to callers that name it');
select pg_temp.add('any-2', null);
select is(
    (select array_agg(key order by key) from unnest(pg_temp.claim(p_affinity_keys => array['b', 'c'])) as key), array['any-2', 'room-b'],
    'a caller that names keys gets the jobs of those keys and the jobs without one'
);
select is(pg_temp.job('room-a') ->> 'state', 'queued', 'and none of another key');

-- Leases that ran out.
update dotq.job_queue set lease_until = '2031-01-01 00:00:00+00' where lease_until is not null;
set local test.clock = '2030-01-02 00:00:00+00';
select pg_temp.leased('crashed');
set local test.clock = '2030-01-02 00:00:59.999999+00';
select is(pg_temp.claim(p_kinds => array['crashed']), '{}', 'a lease is good until its end');
set local test.clock = '2030-01-02 00:01:00+00';
select is(pg_temp.claim(p_kinds => array['crashed'], p_worker => 'w2'), array['crashed'], 'a lease that ran out is taken back and given to who asks');
select is(
    jsonb_build_array(pg_temp.job('crashed') -> 'attempts', pg_temp.job('crashed') -> 'crash_count', pg_temp.job('crashed') -> 'lease_owner'),
    '[2, 1, "w2"]', 'the crash is counted and the attempt too'
);

-- Gates.
select pg_temp.waiting('gated');
set local test.clock = '2030-01-02 00:02:00+00';
select pg_temp.remember('crashed');
select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'test');
select is(pg_temp.claim(), '{}', 'a closed master gate hands out nothing');
select is(pg_temp.job('crashed'), pg_temp.was('crashed'), 'and takes nothing back');
select dotq.fn_config_set('queue.job_substrate.enabled', 'true', 'test');
select dotq.fn_config_set('queue.claim.enabled', 'false', 'test');
select is(pg_temp.claim(), '{}', 'a closed claim gate hands out nothing');
select is(pg_temp.job('gated'), pg_temp.was('gated'), 'and leaves the jobs as they were');
select dotq.fn_config_set('queue.claim.enabled', 'true', 'test');
select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'test');
set local role dotq_worker;
select is(
    (select array_agg(job_kind) from dotq.fn_job_claim_many('w1', 1)), array['gated'], 'a worker claims what is there while nothing new is let in'
);
reset role;
select dotq.fn_config_set('queue.enqueue.enabled', 'true', 'test');

-- Arguments.
select pg_temp.waiting('safe');
select throws_ok($$select dotq.fn_job_claim_many(null, 1)$$, '22023', 'worker_id: is required', 'the worker id is required');
select throws_ok($$select dotq.fn_job_claim_many(' ', 1)$$, '22023', 'worker_id: must not be blank', 'a blank worker id is refused');
select throws_ok($$select dotq.fn_job_claim_many('w#1', 1)$$, '22023', 'worker_id: must not contain #', 'a worker id cannot contain #');
select throws_ok(
    $$select dotq.fn_job_claim_many(repeat('w', 201), 1)$$, '22023', 'worker_id: is 201 characters long', 'a worker id of 201 characters is refused'
);
select throws_ok($$select dotq.fn_job_claim_many('w1', null)$$, '22023', 'limit: null is out of range', 'the limit is required');
select throws_ok($$select dotq.fn_job_claim_many('w1', 0)$$, '22023', 'limit: 0 is out of range', 'a claim of none is refused');
select throws_ok($$select dotq.fn_job_claim_many('w1', -1)$$, '22023', 'limit: -1 is out of range', 'a negative limit is refused');
select throws_ok($$select dotq.fn_job_claim_many('w1', 10001)$$, '22023', 'limit: 10001 is out of range', 'a claim of more than 10000 is refused');
select throws_ok($$select dotq.fn_job_claim_many('w1', 1, 0)$$, '22023', 'lease_seconds: 0 is out of range', 'a lease of no time is refused');
select throws_ok($$select dotq.fn_job_claim_many('w1', 1, -5)$$, '22023', 'lease_seconds: -5 is out of range', 'a negative lease is refused');
select throws_ok(
    $$select dotq.fn_job_claim_many('w1', 1, 86401)$$, '22023', 'lease_seconds: 86401 is out of range', 'a lease over queue.lease.max_sec is refused'
);
select throws_ok(
    $$select dotq.fn_job_claim_many('w1', 1, null, '{}')$$, '22023', 'allowed_kinds: names 0 entries', 'an empty list of kinds is refused'
);
select throws_ok(
    $$select dotq.fn_job_claim_many('w1', 1, null, array['a', null])$$, '22023', 'allowed_kinds: is required', 'a null among the kinds is refused'
);
select throws_ok(
    $$select dotq.fn_job_claim_many('w1', 1, null, null, '{}')$$, '22023', 'affinity_keys: names 0 entries', 'an empty list of affinity keys is refused'
);
select throws_ok(
    $$select dotq.fn_job_claim_many('w1', 1, null, null, array[''])$$, '22023', 'affinity_keys: must not be blank', 'a blank affinity key is refused'
);
select is(pg_temp.job('safe'), pg_temp.was('safe'), 'a refused claim takes nothing');
select is(
    (select array_agg(job_kind) from dotq.fn_job_claim_many(repeat('w', 200), 1, 1, array['safe'])), array['safe'],
    'a worker id of 200 characters, a limit of one and a lease of one second are accepted'
);

select * from finish();
rollback;
