"""No call reads more of the queue than it needs, however large the queue and however old the session's plans."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from harness.databases import Database

BACKLOG = 20_000
READ = """
    select (select seq_tup_read from pg_stat_user_tables where relid = 'dotq.job_queue'::regclass)
        + (select sum(idx_tup_read) from pg_stat_user_indexes where relid = 'dotq.job_queue'::regclass)
"""
FILL = "select count(dotq.fn_job_enqueue('mail', 'tests', p_priority => 200)) from generate_series(1, %s)"

Connection = psycopg.Connection[Any]


def rows_read(conn: Connection) -> int:
    """Rows and index entries of the queue that were read so far, by everybody."""
    conn.execute("select pg_stat_force_next_flush()")
    row = conn.execute(READ.encode()).fetchone()
    assert row is not None
    return int(row[0])


def cycle(conn: Connection) -> dict[str, int]:
    """Every kind of call on one job, with what each of them read."""
    read: dict[str, int] = {}
    lease: tuple[Any, ...] = ()

    def run(name: str, statement: str, *values: Any) -> Any:
        before = rows_read(conn)
        row = conn.execute(statement.encode(), values).fetchone()
        read[name] = rows_read(conn) - before
        return row[0] if row else None

    def claimed(name: str) -> tuple[Any, ...]:
        run("enqueue", "select dotq.fn_job_enqueue('mail', 'tests', 'k')")
        job = run(name, "select dotq.fn_job_claim('w1')")["job"]
        assert job["idempotency_key"] == "k", "the urgent job comes first"
        return job["job_id"], job["lease"]

    lease = claimed("claim")
    run("duplicate", "select dotq.fn_job_enqueue('mail', 'tests', 'k')")
    run("start", "select dotq.fn_job_start(%s, %s)", *lease)
    run("heartbeat", "select dotq.fn_job_heartbeat(%s, %s)", *lease)
    run("get", "select dotq.fn_job_get(%s)", lease[0])
    run("release", "select dotq.fn_job_release(%s, %s)", *lease)
    lease = claimed("claim again")
    run("fail", "select dotq.fn_job_fail_or_retry(%s, %s, 'boom', false)", *lease)
    lease = claimed("claim a third")
    run("ack", "select dotq.fn_job_ack(%s, %s)", *lease)
    job_id = run("enqueue", "select dotq.fn_job_enqueue('mail', 'tests', 'k') ->> 'job_id'")
    run("reschedule", "select dotq.fn_job_reschedule(%s, 'tests')", job_id)
    run("cancel", "select dotq.fn_job_cancel(%s, 'tests')", job_id)
    run("reap", "select dotq.fn_queue_reap()")
    return read


@pytest.mark.parametrize("analyzed", [True, False], ids=["fresh statistics", "statistics of an empty queue"])
def test_a_call_reads_a_handful_of_rows_of_a_full_queue(db: Database, analyzed: bool) -> None:
    warm, admin = db.connect(), db.connect()
    admin.execute("alter table dotq.job_queue set (autovacuum_enabled = false)")
    admin.execute("vacuum analyze dotq.job_queue")
    cycle(warm)
    admin.execute(FILL.encode(), [BACKLOG])
    if analyzed:
        admin.execute("vacuum analyze dotq.job_queue")
    for name, conn in (("a session from before", warm), ("a new session", db.connect())):
        heavy = {call: rows for call, rows in cycle(conn).items() if rows > 200}
        assert not heavy, f"{name} read too much: {heavy}"
