"""Waiting for a condition, with a deadline: no test sleeps for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg

DEADLINE_SECONDS = 15.0


def wait_blocked(watcher: psycopg.Connection[Any], pid: int, *, seconds: float = DEADLINE_SECONDS) -> None:
    """Return once the session `pid` waits for another one; the way to prove a race without a fixed sleep."""
    wait_for(
        lambda: _scalar(watcher, "select cardinality(pg_blocking_pids(%s)) > 0", [pid]),
        f"session {pid} to be blocked",
        seconds=seconds,
    )


def wait_for(condition: Callable[[], object], what: str, *, seconds: float = DEADLINE_SECONDS) -> None:
    """Poll until a condition holds; fail with `what` when the deadline passes."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(0.005)


def _scalar(conn: psycopg.Connection[Any], statement: str, arguments: list[Any]) -> Any:
    row = conn.execute(statement.encode(), arguments).fetchone()
    return row[0] if row else None
