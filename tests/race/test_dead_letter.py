"""Replays beside replays and enqueues: a dead letter comes back once, a key has one active job."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from harness.databases import Database
from race.support import (
    Connection,
    answer,
    at_once,
    blocked,
    call,
    enqueue,
    job,
    one,
    refused,
    rows_of,
    sound,
)

ALREADY, TAKEN = "JQ010", "JQ009"
DEDUPE = pytest.mark.parametrize("dedupe", ["active", "retained"])


def buried(conn: Connection, key: str | None = None) -> tuple[str, str]:
    """A job that ended as a dead letter: its id and its letter's."""
    job_id = enqueue(conn, key=key)
    letter = call(conn, "fn_job_move_to_dead_letter", job_id, "broken", "tests")["dead_letter_id"]
    return job_id, letter


def replay(conn: Connection, letter: str) -> dict[str, Any]:
    found: dict[str, Any] = call(conn, "fn_dead_letter_replay", letter, "tests")
    return found


@pytest.mark.parametrize("key", [None, "k"])
def test_the_second_replay_waits_and_is_refused(db: Database, key: str | None) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    old, letter = buried(second, key)
    made = replay(first, letter)["job_id"]
    with blocked(db, second, lambda: refused(ALREADY, lambda: replay(second, letter))) as late:
        first.commit()
    answer(late)
    assert one(second, "select count(*) from dotq.job_queue where replay_of = %s", old) == 1
    assert one(second, "select replayed_as::text from dotq.job_dead_letter") == made
    sound(second)


def test_the_second_replay_succeeds_when_the_first_is_rolled_back(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    old, letter = buried(second, "k")
    replay(first, letter)
    with blocked(db, second, lambda: replay(second, letter)) as late:
        first.rollback()
    assert answer(late)["replay_of"] == old
    assert one(second, "select count(*) from dotq.job_queue where replay_of = %s", old) == 1


@DEDUPE
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_replay_behind_an_enqueue_of_its_key(db: Database, dedupe: str, end: str) -> None:
    producer, operator = db.connect(autocommit=False), db.connect()
    old, letter = buried(operator, "k")
    call(operator, "fn_kind_set", "mail", {"dedupe": dedupe}, "tests")
    enqueue(producer, key="k")
    if end == "commit":
        with blocked(db, operator, lambda: refused(TAKEN, lambda: replay(operator, letter))) as late:
            producer.commit()
        answer(late)
        assert one(operator, "select triage_status from dotq.job_dead_letter") == "pending"
    else:
        with blocked(db, operator, lambda: replay(operator, letter)) as made:
            producer.rollback()
        assert answer(made)["replay_of"] == old
    sound(operator)


@DEDUPE
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_an_enqueue_behind_a_replay_of_its_key(db: Database, dedupe: str, end: str) -> None:
    operator, producer = db.connect(autocommit=False), db.connect()
    call(producer, "fn_kind_set", "mail", {"dedupe": dedupe}, "tests")
    old, letter = buried(producer, "k")
    made = replay(operator, letter)["job_id"]
    with blocked(db, producer, lambda: call(producer, "fn_job_enqueue", "mail", "tests", "k")) as late:
        operator.commit() if end == "commit" else operator.rollback()
    found = answer(late)
    if end == "commit":
        assert (found["duplicate"], found["job_id"]) == (True, made)
    elif dedupe == "retained":
        assert (found["duplicate"], found["job_id"]) == (True, old), "the dead job keeps its key"
    else:
        assert found["duplicate"] is False
    sound(producer)


def test_replays_of_all_from_many_operators_replay_each_letter_once(db: Database) -> None:
    admin = db.connect()
    letters = {buried(admin, f"k{number}")[1] for number in range(60)}

    def sweep(conn: Connection, _: int) -> list[tuple[str, str]]:
        rows = []
        while batch := rows_of(conn, "fn_dead_letter_replay_many", {}, "tests", 5, False):
            rows += [(str(row[0]), row[3]) for row in batch]
        return rows

    done = [row for rows in at_once(db, 6, sweep) for row in rows]
    assert Counter(done) == Counter((letter, "replayed") for letter in letters)
    assert one(admin, "select count(*) from dotq.job_queue where state = 'queued'") == 60
    sound(admin)


def test_a_letter_that_cannot_be_replayed_loses_nothing(db: Database) -> None:
    """A dead job retains its key, a younger job has the same: the replay is refused, the key stays."""
    conn = db.connect()
    call(conn, "fn_kind_set", "mail", {"dedupe": "retained"}, "tests")
    old, _ = buried(conn, "k")
    call(conn, "fn_kind_set", "mail", {"dedupe": "active"}, "tests")
    active = enqueue(conn, key="k")
    rows = rows_of(conn, "fn_dead_letter_replay_many", {}, "tests", 5, False)
    assert [(row[3], str(row[4])) for row in rows] == [("key_taken", active)]
    assert job(conn, old)["key_retained"] is True


def test_triage_behind_a_replay_sees_it(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    _, letter = buried(second)
    replay(first, letter)
    with blocked(db, second, lambda: call(second, "fn_dead_letter_triage", letter, "closed", "tests")) as late:
        first.commit()
    assert answer(late)["old_status"] == "manual_replay"
