"""A cancel beside a claim, an ack, a failure, a second cancel: one outcome, told to everybody."""

from __future__ import annotations

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
    sound,
)


def test_a_job_that_is_being_cancelled_is_not_claimed(db: Database) -> None:
    operator, worker = db.connect(autocommit=False), db.connect()
    job_id = enqueue(worker)
    assert call(operator, "fn_job_cancel", job_id, "tests")["state"] == "cancelled"
    assert call(worker, "fn_job_claim", "w1")["job"] is None
    operator.commit()
    assert call(worker, "fn_job_claim", "w1")["job"] is None
    assert job(worker, job_id)["state"] == "cancelled"


def test_a_cancel_that_is_rolled_back_leaves_the_job_claimable(db: Database) -> None:
    operator, worker = db.connect(autocommit=False), db.connect()
    job_id = enqueue(worker)
    call(operator, "fn_job_cancel", job_id, "tests")
    operator.rollback()
    assert claim(worker)[0] == job_id


def test_a_cancel_behind_a_claim_asks_the_worker(db: Database) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    enqueue(operator)
    job_id, lease = claim(worker)
    with blocked(db, operator, lambda: call(operator, "fn_job_cancel", job_id, "tests", "not needed")) as late:
        worker.commit()
    assert answer(late)["cancel_requested"] is True
    assert job(operator, job_id)["state"] == "leased"
    assert call(worker, "fn_job_heartbeat", job_id, lease)["cancel_requested"] is True
    worker.commit()
    sound(operator)


def test_a_cancel_behind_a_claim_that_is_rolled_back_ends_the_job(db: Database) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    enqueue(operator)
    job_id, _ = claim(worker)
    with blocked(db, operator, lambda: call(operator, "fn_job_cancel", job_id, "tests")) as late:
        worker.rollback()
    assert answer(late)["state"] == "cancelled"
    assert job(operator, job_id)["attempts"] == 0


def test_a_cancel_behind_an_ack_comes_too_late(db: Database) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    enqueue(operator)
    job_id, lease = claim(operator)
    call(worker, "fn_job_ack", job_id, lease)
    with blocked(
        db, operator, lambda: refused("JQ004", lambda: call(operator, "fn_job_cancel", job_id, "tests"))
    ) as late:
        worker.commit()
    answer(late)
    found = job(operator, job_id)
    assert (found["state"], found["cancel_requested_at"]) == ("succeeded", None)


def test_an_ack_behind_a_cancel_still_counts(db: Database) -> None:
    operator, worker = db.connect(autocommit=False), db.connect()
    enqueue(worker)
    job_id, lease = claim(worker)
    call(operator, "fn_job_cancel", job_id, "tests")
    with blocked(db, worker, lambda: call(worker, "fn_job_ack", job_id, lease)) as late:
        operator.commit()
    assert answer(late)["state"] == "succeeded"


def test_a_failure_behind_a_cancel_ends_the_job_as_cancelled(db: Database) -> None:
    operator, worker = db.connect(autocommit=False), db.connect()
    enqueue(worker)
    job_id, lease = claim(worker)
    call(operator, "fn_job_cancel", job_id, "tests")
    with blocked(db, worker, lambda: call(worker, "fn_job_fail_or_retry", job_id, lease, "stopped")) as late:
        operator.commit()
    assert answer(late)["state"] == "cancelled"
    assert one(worker, "select count(*) from dotq.job_dead_letter") == 0


def test_a_failure_before_a_cancel_leaves_a_waiting_job_that_is_cancelled_at_once(db: Database) -> None:
    worker, operator = db.connect(autocommit=False), db.connect()
    enqueue(operator)
    job_id, lease = claim(operator)
    call(worker, "fn_job_fail_or_retry", job_id, lease, "no luck")
    with blocked(db, operator, lambda: call(operator, "fn_job_cancel", job_id, "tests")) as late:
        worker.commit()
    assert answer(late)["state"] == "cancelled"
    sound(operator)


def test_a_crash_after_a_cancel_ends_the_job_and_the_worker_is_told(db: Database) -> None:
    reaper, worker = db.connect(autocommit=False), db.connect()
    enqueue(worker)
    job_id, lease = claim(worker)
    call(worker, "fn_job_cancel", job_id, "tests")
    expire(worker, job_id)
    assert call(reaper, "fn_queue_reap")["cancelled"] == 1
    with blocked(db, worker, lambda: refused(LEASE_LOST, lambda: call(worker, "fn_job_ack", job_id, lease))) as late:
        reaper.commit()
    answer(late)
    assert job(worker, job_id)["state"] == "cancelled"


def test_of_sixteen_cancels_one_ends_the_job(db: Database) -> None:
    admin = db.connect()
    job_id = enqueue(admin)

    def cancel(conn: Connection, number: int) -> str:
        try:
            return str(call(conn, "fn_job_cancel", job_id, f"operator{number}")["state"])
        except Exception as error:
            return str(getattr(error, "sqlstate", error))

    assert sorted(at_once(db, 16, cancel)) == ["JQ004"] * 15 + ["cancelled"]
