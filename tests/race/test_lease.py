"""The end of a lease: its holder, the reaper, a cancel and a later holder race for one job, and one wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.databases import Database
from race.support import (
    LEASE_LOST,
    Connection,
    answer,
    at_once,
    blocked,
    call,
    claim,
    enqueue,
    expire,
    job,
    one,
    refused,
    rows_of,
    sound,
)

Action = Callable[[Connection, str, str], object]

# Everything a worker may do with a lease.
USES: dict[str, Action] = {
    "ack": lambda conn, job_id, lease: call(conn, "fn_job_ack", job_id, lease),
    "fail": lambda conn, job_id, lease: call(conn, "fn_job_fail_or_retry", job_id, lease, "no luck"),
    "heartbeat": lambda conn, job_id, lease: call(conn, "fn_job_heartbeat", job_id, lease),
    "start": lambda conn, job_id, lease: call(conn, "fn_job_start", job_id, lease),
    "release": lambda conn, job_id, lease: call(conn, "fn_job_release", job_id, lease),
    "fence": lambda conn, job_id, lease: rows_of(conn, "fn_fence_assert", job_id, lease),
}
ENDS = {"ack": "succeeded", "fail": "retry_waiting", "heartbeat": "in_progress", "start": "in_progress"}
ENDS |= {"release": "queued", "fence": "leased"}
USE = pytest.mark.parametrize("use", USES)


def leased(conn: Connection, worker: str = "w1") -> tuple[str, str]:
    """A job under a fresh lease."""
    enqueue(conn)
    return claim(conn, worker)


@USE
def test_who_comes_before_the_reaper_keeps_an_expired_lease(db: Database, use: str) -> None:
    worker, reaper = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(reaper)
    expire(reaper, job_id)
    USES[use](worker, job_id, lease)
    assert call(reaper, "fn_queue_reap")["reaped"] == 0, "the reaper skips a job that is just being finished"
    worker.commit()
    assert job(reaper, job_id)["state"] == ENDS[use]
    assert call(reaper, "fn_queue_reap")["reaped"] == (1 if ENDS[use] == "leased" or use == "start" else 0)
    sound(reaper)


@USE
def test_who_comes_after_the_reaper_has_lost(db: Database, use: str) -> None:
    worker, reaper = db.connect(), db.connect(autocommit=False)
    job_id, lease = leased(worker)
    expire(worker, job_id)
    assert call(reaper, "fn_queue_reap")["requeued"] == 1
    with blocked(db, worker, lambda: refused(LEASE_LOST, lambda: USES[use](worker, job_id, lease))) as late:
        reaper.commit()
    answer(late)
    found = job(worker, job_id)
    assert (found["state"], found["attempts"], found["crash_count"]) == ("queued", 1, 1)
    sound(worker)


@USE
def test_a_reaper_that_is_rolled_back_took_nothing(db: Database, use: str) -> None:
    worker, reaper = db.connect(), db.connect(autocommit=False)
    job_id, lease = leased(worker)
    expire(worker, job_id)
    assert call(reaper, "fn_queue_reap")["requeued"] == 1
    with blocked(db, worker, lambda: USES[use](worker, job_id, lease)) as late:
        reaper.rollback()
    answer(late)
    found = job(worker, job_id)
    assert (found["state"], found["crash_count"]) == (ENDS[use], 0)


@pytest.mark.parametrize("handle", ["worker-id#token", "token of somebody else"])
@USE
def test_an_old_token_is_refused_although_the_same_worker_has_the_job_again(
    db: Database, use: str, handle: str
) -> None:
    conn = db.connect()
    job_id, old = leased(conn)
    expire(conn, job_id)
    assert call(conn, "fn_queue_reap")["requeued"] == 1
    again, new = claim(conn, "w1")
    assert (again, new.split("#")[0]) == (job_id, old.split("#")[0])
    assert int(new.split("#")[1]) > int(old.split("#")[1])
    before = job(conn, job_id)
    stale = old if handle == "worker-id#token" else "w2#" + new.split("#")[1]
    refused(LEASE_LOST, lambda: USES[use](conn, job_id, stale))
    assert job(conn, job_id) == before, "a refused call changed the job"
    USES[use](conn, job_id, new)
    assert job(conn, job_id)["state"] == ENDS[use]


@USE
@pytest.mark.parametrize("lost_by", ["release", "fail", "cancel", "dead letter", "ack by another"])
def test_a_lease_that_was_given_up_counts_no_more(db: Database, use: str, lost_by: str) -> None:
    conn = db.connect()
    job_id, lease = leased(conn)
    if lost_by == "release":
        call(conn, "fn_job_release", job_id, lease)
    elif lost_by == "fail":
        call(conn, "fn_job_fail_or_retry", job_id, lease, "no luck", False)
    elif lost_by == "cancel":
        call(conn, "fn_job_cancel", job_id, "tests")
        call(conn, "fn_config_set", "queue.cancel.grace_sec", "0", "tests")
        assert call(conn, "fn_queue_reap")["cancelled"] == 1
    elif lost_by == "dead letter":
        call(conn, "fn_job_move_to_dead_letter", job_id, "enough", "tests")
    else:
        call(conn, "fn_job_release", job_id, lease)
        call(conn, "fn_job_ack", *claim(conn, "w1"))
    before = job(conn, job_id)
    refused(LEASE_LOST, lambda: USES[use](conn, job_id, lease))
    assert job(conn, job_id) == before, "a refused call changed the job"


def test_two_acks_at_once_finish_a_job_once(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(second)
    assert call(first, "fn_job_ack", job_id, lease, {"n": 1})["duplicate"] is False
    with blocked(db, second, lambda: call(second, "fn_job_ack", job_id, lease, {"n": 2})) as late:
        first.commit()
    assert answer(late)["duplicate"] is True
    assert job(second, job_id)["result"] == {"n": 1}


def test_ack_and_fail_at_once_the_first_one_counts(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(second)
    call(first, "fn_job_fail_or_retry", job_id, lease, "no luck")
    with blocked(db, second, lambda: refused(LEASE_LOST, lambda: USES["ack"](second, job_id, lease))) as late:
        first.commit()
    answer(late)
    assert job(second, job_id)["state"] == "retry_waiting"


def test_reapers_side_by_side_take_each_lease_back_once(db: Database) -> None:
    admin = db.connect()
    for _ in range(200):
        enqueue(admin, p_max_attempts=1)
    assert len(rows_of(admin, "fn_job_claim_many", "w1", 200)) == 200
    admin.execute("update dotq.job_queue set lease_until = now() - interval '1 second'")

    def reap(conn: Connection, _: int) -> int:
        taken = 0
        while batch := call(conn, "fn_queue_reap", 7)["dead_lettered"]:
            taken += batch
        return taken

    assert sum(at_once(db, 8, reap)) == 200
    assert one(admin, "select count(*) from dotq.job_dead_letter") == 200
    crashed = "select count(*) from dotq.job_queue where state = 'dead_letter' and crash_count = 1"
    assert one(admin, crashed) == 200
    sound(admin)


def test_a_reaper_does_not_wait_for_another(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    job_id, _ = leased(second)
    expire(second, job_id)
    assert call(first, "fn_queue_reap")["reaped"] == 1
    second.execute("set lock_timeout = '5s'")
    assert call(second, "fn_queue_reap")["reaped"] == 0
    first.commit()
    assert job(second, job_id)["crash_count"] == 1


def test_acks_and_reapers_hammering_the_moment_of_expiry_have_one_winner_per_job(db: Database) -> None:
    admin = db.connect()
    for _ in range(300):
        enqueue(admin, p_max_attempts=1)
    held = [(row[0], row[5]) for row in rows_of(admin, "fn_job_claim_many", "w1", 300)]
    admin.execute("update dotq.job_queue set lease_until = now() - interval '1 second'")

    def fight(conn: Connection, number: int) -> int:
        won = 0
        if number % 2:
            while batch := call(conn, "fn_queue_reap", 3)["dead_lettered"]:
                won += batch
            return won
        for job_id, lease in held[number // 2 :: 4]:
            try:
                call(conn, "fn_job_ack", job_id, lease)
                won += 1
            except Exception as error:
                assert getattr(error, "sqlstate", None) == LEASE_LOST, error
        return won

    won = at_once(db, 8, fight)
    call(admin, "fn_queue_reap", 10_000)
    succeeded = one(admin, "select count(*) from dotq.job_queue where state = 'succeeded'")
    buried = one(admin, "select count(*) from dotq.job_queue where state = 'dead_letter'")
    assert succeeded == sum(won[0::2])
    assert (succeeded + buried, one(admin, "select count(*) from dotq.job_dead_letter")) == (300, buried)
    sound(admin)


def test_a_fence_holds_off_the_reaper_until_the_commit(db: Database) -> None:
    worker, other = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(other)
    rows_of(worker, "fn_fence_assert", job_id, lease)
    expired = "update dotq.job_queue set lease_until = now() - interval '1 second' where job_id = %s"
    worker.execute(expired, [job_id])
    assert call(other, "fn_queue_reap")["reaped"] == 0
    assert call(other, "fn_job_claim", "w2")["job"] is None, "nor does a claim, which reaps too"
    worker.commit()
    assert call(other, "fn_queue_reap")["reaped"] == 1


def test_a_fence_holds_off_a_forced_cancel_until_the_commit(db: Database) -> None:
    worker, other = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(other)
    call(other, "fn_config_set", "queue.cancel.grace_sec", "0", "tests")
    call(other, "fn_job_cancel", job_id, "tests")
    rows_of(worker, "fn_fence_assert", job_id, lease)
    assert call(other, "fn_queue_reap")["reaped"] == 0
    worker.commit()
    assert call(other, "fn_queue_reap")["cancelled"] == 1
    refused(LEASE_LOST, lambda: rows_of(other, "fn_fence_assert", job_id, lease))


@pytest.mark.parametrize("by", ["fn_job_cancel", "fn_job_move_to_dead_letter"])
def test_a_fence_makes_an_operator_wait_for_the_commit(db: Database, by: str) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(operator)
    rows_of(worker, "fn_fence_assert", job_id, lease)
    arguments = ("tests",) if by == "fn_job_cancel" else ("enough", "tests")
    with blocked(db, operator, lambda: call(operator, by, job_id, *arguments)) as waiting:
        assert job(db.connect(), job_id)["state"] == "leased"
        worker.commit()
    assert answer(waiting)["ok"] is True


def test_a_lost_lease_fences_off_the_effect(db: Database) -> None:
    """The write of a worker that lost its job is undone with its transaction."""
    worker, other = db.connect(), db.connect()
    other.execute("create table public.effect (note text)")
    job_id, lease = leased(other)
    expire(other, job_id)
    call(other, "fn_queue_reap")

    def late() -> None:
        with worker.transaction():
            worker.execute("insert into public.effect values ('late')")
            rows_of(worker, "fn_fence_assert", job_id, lease)

    refused(LEASE_LOST, late)
    assert one(other, "select count(*) from public.effect") == 0


@pytest.mark.parametrize("state", ["leased", "in_progress"])
def test_reopening_the_master_gate_gives_leases_their_full_length_before_any_reaper_looks(
    db: Database, state: str
) -> None:
    operator, reaper = db.connect(autocommit=False), db.connect()
    enqueue(reaper)
    job_id, lease = claim(reaper, "w1", 120)
    if state == "in_progress":
        call(reaper, "fn_job_start", job_id, lease)
    call(reaper, "fn_config_set", "queue.job_substrate.enabled", "false", "tests")
    expire(reaper, job_id)
    assert call(reaper, "fn_queue_reap")["reaped"] == 0, "no reaping while the gate is closed"
    call(operator, "fn_config_set", "queue.job_substrate.enabled", "true", "tests")
    assert call(reaper, "fn_queue_reap")["reaped"] == 0, "nor while the opening is not committed"
    operator.commit()
    assert call(reaper, "fn_queue_reap")["reaped"] == 0, "nor after it"
    length = "select extract(epoch from lease_until - now()) from dotq.job_queue where job_id = %s"
    left = one(reaper, length, job_id)
    assert 100 < left <= 120
    assert call(reaper, "fn_job_ack", job_id, lease)["state"] == "succeeded"


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_reopening_the_master_gate_neither_waits_for_an_ack_nor_brings_its_job_back(db: Database, end: str) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(operator)
    call(worker, "fn_job_ack", job_id, lease)
    call(operator, "fn_config_set", "queue.job_substrate.enabled", "false", "tests")
    operator.execute("set lock_timeout = '5s'")
    call(operator, "fn_config_set", "queue.job_substrate.enabled", "true", "tests")
    worker.commit() if end == "commit" else worker.rollback()
    found = job(operator, job_id)
    assert found["state"] == ("succeeded" if end == "commit" else "leased")
    assert (found["lease_until"] is None) is (end == "commit")
    sound(operator)


def test_a_heartbeat_beside_a_heartbeat_never_shortens_the_lease(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    job_id, lease = leased(second)
    long = call(first, "fn_job_heartbeat", job_id, lease, 1000)["lease_until"]
    with blocked(db, second, lambda: call(second, "fn_job_heartbeat", job_id, lease, 10)) as late:
        first.commit()
    assert answer(late)["lease_until"] == long
