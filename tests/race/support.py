"""What the race tests share: one call, one call in the background, many calls at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from harness.databases import DEADLINE_SECONDS, Database, wait_blocked

Connection = psycopg.Connection[Any]
Row = tuple[Any, ...]
T = TypeVar("T")

LEASE_LOST = "JQ003"
BAD_ARGUMENT = "22023"


def call(conn: Connection, function: str, *arguments: Any, **named: Any) -> Any:
    """The single value that a function of dotq answers."""
    rows = rows_of(conn, function, *arguments, **named)
    assert len(rows) == 1, f"{function} answered {len(rows)} rows"
    return rows[0][0]


def rows_of(conn: Connection, function: str, *arguments: Any, **named: Any) -> list[Row]:
    """All rows that a function of dotq answers."""
    values = [Jsonb(value) if isinstance(value, dict) else value for value in (*arguments, *named.values())]
    places: list[sql.Composable] = [sql.SQL("%s")] * len(arguments)
    places += [sql.SQL("{} => %s").format(sql.Identifier(key)) for key in named]
    name = sql.Identifier("dotq", function)
    query = sql.SQL("select * from {}({})").format(name, sql.SQL(", ").join(places))
    return conn.execute(query, values).fetchall()


def one(conn: Connection, query: str, *values: Any) -> Any:
    """The first value of a query's only row."""
    rows = conn.execute(query.encode(), values).fetchall()
    assert len(rows) == 1, f"{len(rows)} rows: {query}"
    return rows[0][0]


def enqueue(conn: Connection, kind: str = "mail", *, key: str | None = None, **named: Any) -> str:
    """A new job's id; a duplicate is an error here."""
    answer = call(conn, "fn_job_enqueue", kind, "tests", key, **named)
    assert answer["duplicate"] is False
    return str(answer["job_id"])


def claim(conn: Connection, worker: str = "w1", lease_seconds: int | None = None) -> tuple[str, str]:
    """Lease the next job: its id and its handle."""
    job = call(conn, "fn_job_claim", worker, lease_seconds)["job"]
    assert job is not None, "there was nothing to claim"
    return job["job_id"], job["lease"]


def job(conn: Connection, job_id: str) -> dict[str, Any]:
    """The job as it is now."""
    found: dict[str, Any] = call(conn, "fn_job_get", job_id)
    return found


def expire(conn: Connection, job_id: str) -> None:
    """Let a lease run out, as time would."""
    past = "update dotq.job_queue set lease_until = now() - interval '1 second' where job_id = %s"
    conn.execute(past, [job_id])


def refused(state: str, action: Callable[[], object]) -> None:
    """The action must raise exactly this SQLSTATE."""
    with pytest.raises(psycopg.Error) as caught:
        action()
    assert caught.value.sqlstate == state, f"{caught.value.sqlstate}: {caught.value}"


def sound(conn: Connection) -> None:
    """Every invariant of the queue holds."""
    assert rows_of(conn, "fn_queue_fsck") == []


@contextmanager
def background(action: Callable[[], T]) -> Iterator[Future[T]]:
    """Run one action in a thread; its answer is awaited at the end, whatever happens."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(action)


@contextmanager
def blocked(db: Database, conn: Connection, action: Callable[[], T]) -> Iterator[Future[T]]:
    """The action runs on `conn` in a thread and has come to stand behind another session's lock."""
    with background(action) as future:
        try:
            wait_blocked(db.connect(), conn.info.backend_pid)
        except AssertionError:
            conn.cancel()
            raise
        assert not future.done()
        yield future


def answer(future: Future[T]) -> T:
    """What a background action answered; it must not hang."""
    return future.result(timeout=DEADLINE_SECONDS)


def at_once(db: Database, count: int, action: Callable[[Connection, int], T]) -> list[T]:
    """Run the action on `count` connections that all start at the same moment."""
    connections = [db.connect() for _ in range(count)]
    gate = threading.Barrier(count)

    def run(number: int) -> T:
        gate.wait(timeout=DEADLINE_SECONDS)
        return action(connections[number], number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
