"""Every method, with what it answers, by both clients."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest

from dotq import AsyncClient, DeadLetter, Job, Json, as_dict
from driver.support import MASTER, ME, open_client, scalar
from harness.databases import Database

WORKER = "host-1-abc"
FAR = datetime(2100, 1, 1, 12, 30, tzinfo=timezone.utc)


async def claimed(client: AsyncClient, kind: str = "report") -> Job:
    await client.job_enqueue(kind, ME)
    job = (await client.job_claim(WORKER)).job
    assert job is not None
    return job


async def dead(client: AsyncClient, kind: str = "report", error: str = "disk 7 is full") -> UUID:
    job = await claimed(client, kind)
    failure = await client.job_fail_or_retry(job.job_id, job.lease, error, retryable=False)
    assert failure.dead_letter_id is not None
    return failure.dead_letter_id


async def test_enqueue_sends_every_argument(client: AsyncClient) -> None:
    run_id = uuid4()
    first = await client.job_enqueue(
        "report",
        ME,
        idempotency_key="june",
        payload_json={"month": "june", "größe": [1, 2.5, None, True]},
        source_ref="s",
        target_ref="t",
        payload_ref="p",
        priority=7,
        scheduled_at=FAR,
        max_attempts=3,
        run_id=run_id,
    )
    assert (type(first.job_id), first.state, first.duplicate) == (UUID, "queued", False)
    again = await client.job_enqueue("report", ME, idempotency_key="june")
    assert (again.job_id, again.duplicate) == (first.job_id, True)
    job = await client.job_get(first.job_id)
    assert job.payload == {"month": "june", "größe": [1, 2.5, None, True]}
    assert (job.source_ref, job.target_ref, job.payload_ref) == ("s", "t", "p")
    assert (job.priority, job.max_attempts, job.run_id, job.scheduled_at) == (7, 3, run_id, FAR)
    assert (job.idempotency_key, job.actor, job.lease, job.dead_letter_id) == ("june", ME, None, None)
    assert job.created_at.utcoffset() is not None


async def test_claim_answers_a_job_or_why_there_is_none(client: AsyncClient) -> None:
    nothing = await client.job_claim(WORKER, lease_seconds=60, allowed_kinds=["report"])
    assert nothing.job is None
    assert str(nothing.reason).startswith("no_kind")
    sent = await client.job_enqueue("report", ME, payload_json={"n": 1})
    claim = await client.job_claim(WORKER, lease_seconds=60, allowed_kinds=("other", "report"))
    job = claim.job
    assert job is not None
    assert (claim.reason, job.job_id, job.payload, job.attempts) == (None, sent.job_id, {"n": 1}, 1)
    assert job.lease.startswith(WORKER + "#")
    assert timedelta(seconds=50) < job.lease_until - await client.server_time() <= timedelta(seconds=60)
    assert (await client.job_claim(WORKER)).reason == "empty: no job is due"


async def test_claim_many_in_the_order_of_urgency(client: AsyncClient) -> None:
    sent = {}
    for name in ("low", "normal", "high", "critical"):
        sent[name] = (await client.job_enqueue("report", ME, priority=name)).job_id
    await client.job_enqueue("other", ME, priority=0)
    jobs = await client.job_claim_many(WORKER, 3, lease_seconds=9, allowed_kinds=["report"], affinity_keys=["eu"])
    assert [job.job_id for job in jobs] == [sent[name] for name in ("critical", "high", "normal")]
    assert [job.priority for job in jobs] == [0, 50, 100]
    assert len({job.lease for job in jobs}) == 3
    assert await client.job_claim_many(WORKER, 5, allowed_kinds=["nothing"]) == []


async def test_the_life_of_a_job(client: AsyncClient) -> None:
    job = await claimed(client)
    started = await client.job_start(job.job_id, job.lease)
    assert (started.state, started.cancel_requested, started.lease_until) == (
        "in_progress",
        False,
        job.lease_until,
    )
    beat = await client.job_heartbeat(
        job.job_id, job.lease, lease_seconds=1000, progress={"done": 3}, checkpoint=[1, 2]
    )
    assert beat.lease_until > job.lease_until
    assert (beat.job_id, beat.cancel_requested, beat.drain) == (job.job_id, False, False)
    await client.fence_assert(job.job_id, job.lease)
    ack = await client.job_ack(job.job_id, job.lease, result={"pages": 12})
    assert (ack.job_id, ack.state, ack.duplicate) == (job.job_id, "succeeded", False)
    assert (await client.job_ack(job.job_id, job.lease)).duplicate
    kept = await client.job_get(job.job_id)
    assert [json and json.value for json in (kept.progress, kept.checkpoint, kept.result)] == [
        {"done": 3},
        [1, 2],
        {"pages": 12},
    ]
    events = await client.job_timeline(job.job_id)
    assert (events[0].event, events[0].actor, events[-1].event) == ("enqueued", ME, "succeeded")
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert job.lease_until > events[1].at > events[0].at == job.created_at
    (recent,) = await client.job_recent(kind="report", state="succeeded", limit=5)
    assert recent.job_id == job.job_id
    assert isinstance(recent.run_seconds, float)
    assert await client.job_recent(state="failed") == []


async def test_failing_retries_and_then_ends(client: AsyncClient) -> None:
    job = await claimed(client)
    retry = await client.job_fail_or_retry(job.job_id, job.lease, "timeout")
    assert (retry.state, retry.attempts, retry.max_attempts, retry.dead_letter_id) == (
        "retry_waiting",
        1,
        5,
        None,
    )
    assert retry.scheduled_at is not None
    assert retry.scheduled_at > await client.server_time()
    moved = await client.job_reschedule(job.job_id, ME, priority="critical")
    assert (moved.state, moved.priority, moved.scheduled_at) == ("retry_waiting", 0, retry.scheduled_at)
    moved = await client.job_reschedule(job.job_id, ME)
    assert moved.scheduled_at < retry.scheduled_at
    (again,) = await client.job_claim_many(WORKER, 1)
    assert (again.attempts, again.last_error) == (2, "timeout")
    end = await client.job_fail_or_retry(again.job_id, again.lease, "broken", retryable=False)
    assert (end.state, end.scheduled_at) == ("failed", None)
    assert end.dead_letter_id == (await client.job_get(job.job_id)).dead_letter_id


async def test_release_gives_the_attempt_back(client: AsyncClient) -> None:
    job = await claimed(client)
    released = await client.job_release(job.job_id, job.lease)
    assert (released.job_id, released.state, released.attempts) == (job.job_id, "queued", 0)


async def test_cancel_at_once_or_by_asking(client: AsyncClient) -> None:
    sent = await client.job_enqueue("report", ME)
    done = await client.job_cancel(sent.job_id, ME, reason="not needed")
    assert (done.state, done.cancel_requested, done.forced_at) == ("cancelled", False, None)
    assert (await client.job_get(sent.job_id)).last_error == f"cancelled by {ME}: not needed"
    job = await claimed(client)
    asked = await client.job_cancel(str(job.job_id), ME)
    assert (asked.state, asked.cancel_requested) == ("leased", True)
    assert asked.forced_at is not None
    assert asked.forced_at.utcoffset() is not None
    assert (await client.job_heartbeat(job.job_id, job.lease)).cancel_requested


async def test_reschedule_and_explain(client: AsyncClient) -> None:
    sent = await client.job_enqueue("report", ME)
    moved = await client.job_reschedule(sent.job_id, ME, scheduled_at=FAR)
    assert (moved.scheduled_at, moved.priority) == (FAR, 100)
    blockers = await client.job_explain(sent.job_id)
    assert [(b.place, b.blocker) for b in blockers] == [(1, "not_due"), (2, "no_worker"), (3, "next")]
    assert "fn_job_reschedule" in str(blockers[0].remedy)
    assert blockers[-1].remedy is None


async def test_lists_are_filtered_and_paged(client: AsyncClient) -> None:
    ids = [(await client.job_enqueue("report", ME, idempotency_key=key)).job_id for key in "abc"]
    await client.job_enqueue("other", ME)
    await client.job_cancel(ids[0], ME)
    listed = await client.job_list(states=["queued", "leased"], kind="report")
    assert [job.job_id for job in listed] == sorted(ids[1:], reverse=True)
    assert [job.idempotency_key for job in await client.job_list(key="b")] == ["b"]
    first = await client.job_list(kind="report", limit=2)
    rest = await client.job_list(kind="report", limit=2, after=first[-1].job_id)
    assert sorted(job.job_id for job in first + rest) == sorted(ids)
    assert rest[0].state in {"queued", "cancelled"}


async def test_the_triage_desk(client: AsyncClient) -> None:
    one = await dead(client, error="disk 7 is full")
    two = await dead(client, error="disk 8 is full")
    other = await dead(client, "other", "no such file")
    letters = await client.dead_letters()
    assert [letter.dead_letter_id for letter in letters] == [other, two, one]
    letter = await client.dead_letter(one)
    assert isinstance(letter, DeadLetter)
    assert (letter.task_type, letter.cause, letter.error_message) == (
        "report",
        "not_retryable",
        "disk 7 is full",
    )
    assert letter.payload == Json("{}")
    assert await client.dead_letter(uuid4()) is None
    same = await client.dead_letters(fingerprint=letter.error_fingerprint, kind="report", status="pending")
    assert {found.dead_letter_id for found in same} == {one, two}
    assert len(await client.dead_letters(cause="not_retryable", limit=2)) == 2
    assert await client.dead_letters(cause="crashed") == []
    groups = await client.dead_letter_groups()
    assert [(group.job_kind, group.open_count) for group in groups] == [("report", 2), ("other", 1)]
    assert [group.sample_id for group in await client.dead_letter_groups(kind="other", limit=1)] == [other]
    triage = await client.dead_letter_triage(one, "acknowledged", ME, note="known")
    assert (triage.dead_letter_id, triage.job_id) == (one, letter.job_id)
    assert (triage.old_status, triage.status) == ("pending", "acknowledged")
    summary = {(row.job_kind, row.triage_status): row.row_count for row in await client.dead_letter_summary()}
    assert summary == {("report", "acknowledged"): 1, ("report", "pending"): 1, ("other", "pending"): 1}


async def test_replay_one_and_many(client: AsyncClient) -> None:
    one, two = await dead(client), await dead(client)
    letter = await client.dead_letter(one)
    assert letter is not None
    replay = await client.dead_letter_replay(one, ME)
    assert (replay.dead_letter_id, replay.replay_of) == (one, letter.job_id)
    assert (await client.job_get(replay.job_id)).replay_of == letter.job_id
    (preview,) = await client.dead_letter_replay_many({"kind": "report"}, ME)
    assert (preview.dead_letter_id, preview.outcome, preview.job_id) == (two, "would_replay", None)
    (done,) = await client.dead_letter_replay_many({"kind": "report"}, ME, limit=1, dry_run=False)
    assert (done.outcome, done.job_kind, done.final_error) == ("replayed", "report", "disk 7 is full")
    assert done.job_id is not None
    assert (await client.job_get(done.job_id)).state == "queued"


async def test_move_to_dead_letter(client: AsyncClient) -> None:
    sent = await client.job_enqueue("report", ME)
    buried = await client.job_move_to_dead_letter(sent.job_id, "poison", ME)
    assert (buried.job_id, buried.state) == (sent.job_id, "dead_letter")
    letter = await client.dead_letter(buried.dead_letter_id)
    assert letter is not None
    assert (letter.cause, letter.moved_by) == ("moved", ME)


async def test_kinds(client: AsyncClient) -> None:
    schema = {"type": "object", "required": ["n"]}
    policy = await client.kind_set("report", {"max_attempts": 2, "backoff_jitter": 0.5, "payload_schema": schema}, ME)
    assert (policy.job_kind, policy.max_attempts, policy.backoff_jitter) == ("report", 2, 0.5)
    assert policy.payload_schema is not None
    assert policy.payload_schema.value == schema
    assert await client.kind_get("report") == policy
    paused = await client.kind_pause("report", ME, reason="broken", until=FAR)
    assert (paused.job_kind, paused.paused, paused.until, paused.reason) == ("report", True, FAR, "broken")
    (kind,) = await client.kinds()
    assert (kind.status, kind.paused_until, kind.lease_seconds, kind.has_schema) == (
        "paused",
        FAR,
        300,
        True,
    )
    resumed = await client.kind_resume("report", ME)
    assert (resumed.paused, resumed.was_paused) == (False, True)
    assert not (await client.kind_resume("report", ME)).was_paused


async def test_payload_problem(client: AsyncClient) -> None:
    schema = {"type": "object", "required": ["n"]}
    assert await client.payload_problem(schema, {"n": 1}) is None
    problem = await client.payload_problem(schema, {}, path="$.inner", root=schema)
    assert str(problem).startswith("$.inner")


async def test_settings(client: AsyncClient) -> None:
    change = await client.config_set("queue.lease.duration_sec", "60", ME)
    assert (change.key, change.old_value, change.value) == ("queue.lease.duration_sec", "300", "60")
    (setting,) = await client.config(key="queue.lease.duration_sec")
    assert (setting.value, setting.effective, setting.is_gate, setting.updated_by) == ("60", "60", False, ME)
    gates = await client.config(is_gate=True)
    assert MASTER in {gate.key for gate in gates}
    assert len(gates) < len(await client.config())
    (audit,) = await client.config_audit(key="queue.lease.duration_sec")
    assert (audit.old_value, audit.new_value, audit.changed_by) == ("300", "60", ME)
    assert (await client.config_audit(limit=1)) == [audit]


async def test_workers_and_leaders(client: AsyncClient) -> None:
    worker = await client.worker_register(
        WORKER, "host", 4, version="1", kinds=["report"], affinity_keys=["eu"], metadata={"zone": "eu"}
    )
    assert (worker.worker_id, worker.started_at) == (WORKER, worker.last_heartbeat_at)
    lead = await client.leader_acquire("sweep", WORKER, lease_seconds=60)
    assert (lead.duty, lead.is_leader, lead.leader, lead.term) == ("sweep", True, WORKER, 1)
    assert not (await client.leader_acquire("sweep", "other-2-x")).is_leader
    await claimed(client)
    (fleet,) = await client.worker_fleet()
    assert (fleet.worker_id, fleet.pool_size, fleet.leases_held) == (WORKER, 4, 1)
    assert (fleet.kinds, fleet.affinity_keys, fleet.leads) == (("report",), ("eu",), ("sweep",))
    gone = await client.worker_deregister(WORKER)
    assert (gone.worker_id, gone.was_registered, gone.leases_held) == (WORKER, True, 1)


async def test_ticks_and_stale_executors(db: Database, client: AsyncClient) -> None:
    assert (await client.queue_stale_check()).stale == ()
    job = await claimed(client)
    for name in ("x", "y"):
        tick = await client.queue_heartbeat_tick(
            name, "Agent", status="warn", current_job_id=job.job_id, lease_owner=WORKER, metadata={"n": 1}
        )
        assert (tick.ok, tick.executor_name, tick.ticks_total, tick.reason) == (True, name, 1, None)
    db.connect().execute("update dotq.queue_heartbeat set last_tick_at = now() - interval '90 s'")
    check = await client.queue_stale_check(threshold_seconds=60)
    assert (check.threshold_seconds, check.stale_count) == (60, 2)
    assert {(e.executor_name, e.executor_kind, e.current_job_id) for e in check.stale} == {
        ("x", "Agent", job.job_id),
        ("y", "Agent", job.job_id),
    }
    assert all(90 <= e.seconds_since_tick < 150 for e in check.stale)
    assert (await client.queue_stale_check()).stale_count == 0
    await client.config_set("queue.heartbeat.enabled", "false", ME)
    refused = await client.queue_heartbeat_tick("x", "Agent")
    assert (refused.ok, refused.ticks_total) == (False, None)
    assert str(refused.reason).startswith("gate_closed")


async def test_reap_and_maintain(db: Database, client: AsyncClient) -> None:
    job = await claimed(client)
    expire = "update dotq.job_queue set lease_until = now() - interval '1 s' where lease_until is not null"
    db.connect().execute(expire.encode())
    (stuck,) = await client.job_stuck(limit=10)
    assert (stuck.job_id, stuck.lease_owner) == (job.job_id, WORKER)
    assert stuck.overdue_seconds > 0
    reaped = await client.queue_reap(limit=10)
    assert (reaped.reaped, reaped.requeued, reaped.dead_lettered, reaped.reason) == (1, 1, 0, None)
    await client.job_claim(WORKER)
    db.connect().execute(expire.encode())
    done = await client.queue_maintain(WORKER)
    assert (done.ran, done.leader, done.term) == (True, WORKER, 1)
    assert done.reap is not None
    assert done.reap.reaped == 1
    other = await client.queue_maintain("other-2-x")
    assert (other.ran, other.leader, other.reap, other.workers_removed) == (False, WORKER, None, None)
    await client.config_set(MASTER, "false", ME)
    closed = await client.queue_reap()
    assert (closed.reaped, closed.requeued) == (0, None)
    assert str(closed.reason).startswith("gate_closed")


async def test_fsck_finds_what_is_broken(db: Database, client: AsyncClient) -> None:
    assert await client.queue_fsck() == []
    db.connect().execute("update dotq.dot_config set value = 'maybe' where key = 'queue.kind.strict'")
    (violation,) = await client.queue_fsck()
    assert (violation.invariant, violation.subject) == ("every setting can be read", "queue.kind.strict")
    assert "maybe" in violation.detail


async def test_server_time_is_the_servers(db: Database, client: AsyncClient) -> None:
    before = scalar(db.connect(), "select dotq.fn_clock_now()")
    now, later = await client.server_time(), await client.server_time(timedelta(minutes=5))
    after = scalar(db.connect(), "select dotq.fn_clock_now()")
    assert before <= now <= after
    assert before <= later - timedelta(minutes=5) <= after


async def test_status_and_health(client: AsyncClient) -> None:
    status = await client.queue_status()
    assert (status.verdict, status.reasons, status.oldest_ready_seconds) == ("ok", (), None)
    await client.job_enqueue("report", ME)
    (health,) = await client.queue_health()
    assert (health.executor_name, health.queued_count, health.gate_notify) == (None, 1, False)
    assert (health.unreadable_settings, health.stale_threshold_seconds) == (None, 300)
    await client.config_set(MASTER, "false", ME)
    closed = await client.queue_status()
    assert (closed.verdict, closed.ready_count) == ("critical", 1)
    assert MASTER in closed.reasons[0]
    assert isinstance(closed.oldest_ready_seconds, float)


async def test_backlog(client: AsyncClient) -> None:
    await client.job_enqueue("report", ME, scheduled_at=FAR)
    await claimed(client, "other")
    rows = await client.backlog()
    assert [(row.job_kind, row.state, row.row_count) for row in rows] == [
        ("other", "leased", 1),
        ("report", "queued", 1),
    ]
    (row,) = await client.backlog(kind="report", state="queued")
    assert (row.next_scheduled_at, row.avg_attempts) == (FAR, 0.0)
    assert await client.backlog(kind="report", state="leased") == []


async def test_error_codes_and_catalogue(client: AsyncClient) -> None:
    codes = {code.code: code.name for code in await client.error_codes()}
    assert codes["JQ003"] == "lease_lost"
    views = await client.catalog(object_type="view")
    assert {entry.object_type for entry in views} == {"view"}
    assert "v_catalog" in {entry.name for entry in views}
    everything = {entry.name: entry for entry in await client.catalog()}
    assert str(everything["fn_job_ack"].granted_to) == "dotq_operator, dotq_worker"


async def test_rows_as_dictionaries(client: AsyncClient) -> None:
    await client.job_enqueue("report", ME, payload_json={"n": 1})
    claim = as_dict(await client.job_claim(WORKER))
    assert (claim["job"]["payload_json"], claim["job"]["job_kind"], claim["reason"]) == (
        {"n": 1},
        "report",
        None,
    )
    assert as_dict(await client.queue_status())["reasons"] == []


@pytest.mark.parametrize("style", ["German", "SQL, DMY"])
async def test_times_do_not_depend_on_the_sessions_notation(db: Database, kind: str, style: str) -> None:
    name = db.connect().info.dbname
    db.connect().execute(f"alter database {name} set datestyle = '{style}'".encode())
    db.connect().execute(f"alter database {name} set timezone = 'Asia/Kolkata'".encode())

    fresh = await open_client(db, kind)
    sent = await fresh.job_enqueue("report", ME, scheduled_at=FAR)
    assert (await fresh.job_get(sent.job_id)).scheduled_at == FAR
    assert (await fresh.job_list())[0].scheduled_at == FAR
