"""Enqueues beside enqueues: one key, one job, and no error for anybody."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from harness.databases import Database
from race.support import Connection, answer, at_once, blocked, call, claim, enqueue, job, one, refused, sound

DEDUPE = pytest.mark.parametrize("dedupe", ["active", "retained"])


def kind(conn: Connection, dedupe: str) -> None:
    call(conn, "fn_kind_set", "mail", {"dedupe": dedupe}, "tests")


def keyed(conn: Connection, key: str = "k") -> dict[str, Any]:
    found: dict[str, Any] = call(conn, "fn_job_enqueue", "mail", "tests", key)
    return found


@DEDUPE
def test_sixty_four_enqueues_of_one_key_make_one_job(db: Database, dedupe: str) -> None:
    admin = db.connect()
    kind(admin, dedupe)
    answers = at_once(db, 64, lambda conn, _: keyed(conn))
    assert Counter(found["duplicate"] for found in answers) == {False: 1, True: 63}
    assert len({found["job_id"] for found in answers}) == 1
    assert one(admin, "select count(*) from dotq.job_queue") == 1
    sound(admin)


@DEDUPE
def test_the_second_waits_for_the_first_and_is_its_duplicate(db: Database, dedupe: str) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    kind(second, dedupe)
    made = keyed(first)
    with blocked(db, second, lambda: keyed(second)) as late:
        first.commit()
    assert answer(late) == {"ok": True, "job_id": made["job_id"], "state": "queued", "duplicate": True}


@DEDUPE
def test_when_the_first_is_rolled_back_one_of_the_others_makes_the_job(db: Database, dedupe: str) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    kind(second, dedupe)
    lost = keyed(first)
    others = [second, *(db.connect() for _ in range(3))]
    with ExitStack() as stack:
        late = [stack.enter_context(blocked(db, other, partial(keyed, other))) for other in others]
        first.rollback()
    answers = [answer(future) for future in late]
    assert Counter(found["duplicate"] for found in answers) == {False: 1, True: 3}
    assert len({found["job_id"] for found in answers} - {lost["job_id"]}) == 1
    assert one(second, "select count(*) from dotq.job_queue") == 1
    sound(second)


@pytest.mark.parametrize("end", ["commit", "rollback"])
@DEDUPE
def test_an_enqueue_beside_the_ack_of_its_key_waits_for_the_outcome(db: Database, dedupe: str, end: str) -> None:
    worker, producer = db.connect(autocommit=False), db.connect()
    kind(producer, dedupe)
    old = keyed(producer)["job_id"]
    job_id, lease = claim(producer)
    assert call(worker, "fn_job_ack", job_id, lease)["state"] == "succeeded"
    with blocked(db, producer, lambda: keyed(producer)) as late:
        worker.commit() if end == "commit" else worker.rollback()
    found = answer(late)
    free = dedupe == "active" and end == "commit"
    assert found["duplicate"] is not free
    assert (found["job_id"] == old) is not free
    state = "queued" if free else "succeeded" if end == "commit" else "leased"
    assert found["state"] == state
    sound(producer)


def test_two_batches_in_opposite_order_do_not_lose_a_job(db: Database) -> None:
    """The same two keys crosswise in two transactions: PostgreSQL ends one, and its retry finds the jobs."""
    first, second = db.connect(autocommit=False), db.connect(autocommit=False)
    kind(db.connect(), "active")
    first.execute("set deadlock_timeout = '30s'")
    second.execute("set deadlock_timeout = '10ms'")
    keyed(first, "a")
    keyed(second, "b")
    with blocked(db, first, lambda: keyed(first, "b")) as crossing:
        refused("40P01", lambda: keyed(second, "a"))
        second.rollback()
    assert answer(crossing)["duplicate"] is False
    first.commit()
    assert [keyed(second, key)["duplicate"] for key in "ab"] == [True, True]


def test_keys_are_separate_per_kind_and_jobs_without_a_key_never_clash(db: Database) -> None:
    def put(conn: Connection, number: int) -> bool:
        duplicate: bool = call(conn, "fn_job_enqueue", f"kind{number % 4}", "tests", "k" if number % 2 else None)[
            "duplicate"
        ]
        return duplicate

    assert sum(at_once(db, 32, put)) == 16 - 2
    assert one(db.connect(), "select count(*) from dotq.job_queue") == 18


def test_thirty_two_first_jobs_register_their_kind_once(db: Database) -> None:
    made = at_once(db, 32, lambda conn, _: enqueue(conn, "brand new"))
    admin = db.connect()
    assert len(set(made)) == 32
    assert one(admin, "select count(*) from dotq.job_kind where job_kind = 'brand new'") == 1
    sound(admin)


def test_a_kind_whose_first_job_is_rolled_back_is_registered_by_the_next(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    enqueue(first, "brand new")
    with blocked(db, second, lambda: enqueue(second, "brand new")) as late:
        first.rollback()
    assert job(second, answer(late))["job_kind"] == "brand new"
    sound(second)


def test_disabling_a_kind_beside_an_enqueue_loses_no_job(db: Database) -> None:
    producer, operator = db.connect(autocommit=False), db.connect()
    kind(operator, "active")
    made = enqueue(producer)
    call(operator, "fn_kind_set", "mail", {"enabled": False}, "tests")
    producer.commit()
    assert job(operator, made)["state"] == "queued"
    refused("JQ006", lambda: enqueue(operator))


def test_an_enqueue_in_a_transaction_that_is_rolled_back_never_was(db: Database) -> None:
    producer, other = db.connect(autocommit=False), db.connect()
    made = enqueue(producer)
    assert call(other, "fn_job_claim", "w1")["job"] is None
    producer.rollback()
    refused("JQ002", lambda: job(other, made))
