"""A commit that PostgreSQL reports as done although it gave up waiting for its synchronous standby."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.errors import Diagnostic

from dotq._errors import CommitIndeterminate

# The server's own name of the place where it waits: unlike the message, it is the same in every language.
_WAIT = "SyncRepWaitForLSN"


@contextmanager
def indeterminate_commit_guard(
    conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> Iterator[None]:
    """Raise CommitIndeterminate when a commit inside was cut short while it waited for a synchronous standby.

    The server then answers with success and a warning. The transaction is on the primary and can still be
    lost with it, so a caller who promises durability must not say that the enqueue is done. Put it around
    the transaction, not inside: `with indeterminate_commit_guard(conn), conn.transaction(): ...`
    """
    warnings: list[str | None] = []

    def hear(notice: Diagnostic) -> None:
        if notice.source_function == _WAIT:
            warnings.append(notice.sqlstate)

    conn.add_notice_handler(hear)
    try:
        yield
    finally:
        conn.remove_notice_handler(hear)
    if warnings:
        raise CommitIndeterminate(
            "the commit is on the primary, and perhaps not on its synchronous standby",
            sqlstate=warnings[0],
            hint="Do not repeat a job without an idempotency key: look for it first.",
        )
