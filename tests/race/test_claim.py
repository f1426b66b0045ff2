"""Claims beside claims: each job goes to one worker, and never more jobs than were asked for."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.databases import Database
from race.support import (
    BAD_ARGUMENT,
    Connection,
    answer,
    at_once,
    background,
    call,
    claim,
    enqueue,
    job,
    one,
    refused,
    rows_of,
    sound,
)

FILL = "select count(dotq.fn_job_enqueue('mail', 'tests')) from generate_series(1, %s)"
TOUCHED = "select count(*) from dotq.job_queue where state = 'leased'"


def test_eight_workers_drain_the_queue_and_each_job_is_done_once(db: Database) -> None:
    jobs, workers = 2000, 8
    admin = db.connect()
    assert one(admin, FILL, jobs) == jobs

    def drain(conn: Connection, number: int) -> list[tuple[str, str]]:
        done = []
        while rows := rows_of(conn, "fn_job_claim_many", f"w{number}", 1 + number * 3):
            assert len(rows) <= 1 + number * 3
            for row in rows:
                assert row[2] == 1, "the first attempt"
                ack = call(conn, "fn_job_ack", row[0], row[5])
                assert ack["duplicate"] is False
                done.append((str(row[0]), row[5].split("#")[1]))
        return done

    done = [pair for part in at_once(db, workers, drain) for pair in part]
    assert Counter(job_id for job_id, _ in done) == Counter(
        {str(row[0]): 1 for row in admin.execute("select job_id from dotq.job_queue").fetchall()}
    )
    assert len({token for _, token in done}) == jobs
    done_once = "select count(*) from dotq.job_queue where state = 'succeeded' and attempts = 1"
    assert one(admin, done_once) == jobs
    sound(admin)


def test_a_job_under_another_claim_is_skipped_without_waiting(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    enqueue(second)
    mine, _ = claim(first, "w1")
    second.execute("set lock_timeout = '5s'")
    with background(lambda: call(second, "fn_job_claim", "w2")) as future:
        missed = answer(future)
    assert (missed["job"], missed["reason"]) == (None, "empty: no job is due")
    other = enqueue(second)
    assert claim(second, "w2")[0] == other
    first.commit()
    assert job(second, mine)["lease_owner"] == "w1"


def test_a_claim_that_is_rolled_back_leaves_no_trace(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    enqueue(second)
    mine, lost = claim(first, "w1")
    first.rollback()
    again, handle = claim(second, "w1")
    assert again == mine
    assert handle != lost, "the number of a lease is not used twice, not even after a rollback"
    assert job(second, mine)["attempts"] == 1
    refused("JQ003", lambda: call(second, "fn_job_ack", mine, lost))
    assert call(second, "fn_job_ack", mine, handle)["state"] == "succeeded"


def test_claims_of_the_most_urgent_job_go_on_past_locked_ones(db: Database) -> None:
    """Ten sessions hold their claims open; each has a different job, the most urgent ones."""
    admin = db.connect()
    expected = {enqueue(admin, p_priority=priority) for priority in range(10)}
    for priority in range(100, 110):
        enqueue(admin, p_priority=priority)
    sessions = [db.connect(autocommit=False) for _ in range(10)]
    assert {claim(session, f"w{number}")[0] for number, session in enumerate(sessions)} == expected


@pytest.mark.parametrize("warm", ["fresh session", "plan made on the empty table"])
@pytest.mark.parametrize("statistics", ["of the empty table", "none", "of the full table"])
def test_a_claim_of_n_takes_n_whatever_the_statistics_say(db: Database, warm: str, statistics: str) -> None:
    conn = db.connect()
    conn.execute("alter table dotq.job_queue set (autovacuum_enabled = off)")
    call(conn, "fn_kind_set", "mail", {}, "tests")
    if statistics == "of the empty table":
        conn.execute("analyze dotq.job_queue")
    if warm != "fresh session":
        for _ in range(7):
            assert rows_of(conn, "fn_job_claim_many", "w1", 2) == []
    assert one(db.connect(), FILL, 10_000) == 10_000
    if statistics == "of the full table":
        conn.execute("analyze dotq.job_queue")
    taken = 0
    for limit in (1, 2, 7, 100, 1000):
        rows = rows_of(conn, "fn_job_claim_many", "w1", limit)
        taken += limit
        assert len(rows) == limit
        assert one(conn, TOUCHED) == taken, "a row was leased and not handed out"
    assert claim(conn)[0]
    assert one(conn, TOUCHED) == taken + 1


@pytest.mark.parametrize("limit", [None, 0, -1, -(2**31), 10_001, 2**31 - 1])
def test_a_claim_of_a_senseless_number_is_refused_and_takes_nothing(db: Database, limit: int | None) -> None:
    conn = db.connect()
    enqueue(conn)
    refused(BAD_ARGUMENT, lambda: rows_of(conn, "fn_job_claim_many", "w1", limit))
    assert one(conn, TOUCHED) == 0


def test_a_claim_of_more_than_there_are_takes_what_there_is(db: Database) -> None:
    conn = db.connect()
    wanted = [enqueue(conn) for _ in range(3)]
    assert [str(row[0]) for row in rows_of(conn, "fn_job_claim_many", "w1", 10_000)] == wanted
    assert rows_of(conn, "fn_job_claim_many", "w1", 10_000) == []
