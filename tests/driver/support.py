"""Both clients behind one face, so that every scenario runs with each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, cast

import psycopg
import pytest

from dotq import AsyncClient, Client
from harness.databases import Database

ME = "tests"
MASTER = "queue.job_substrate.enabled"


class _Awaited:
    """A synchronous client whose methods are awaited like those of the asynchronous one."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not callable(method):
            return method

        async def call(*arguments: Any, **options: Any) -> Any:
            answer = method(*arguments, **options)
            return await answer if isawaitable(answer) else answer

        return call


async def open_client(db: Database, kind: str, *, schema: str = "dotq", **options: Any) -> AsyncClient:
    """A client of its own connection: `kind` is sync or async."""
    if kind == "sync":
        return cast(AsyncClient, _Awaited(Client(db.connect(**options), schema=schema)))
    return cast(AsyncClient, _Awaited(AsyncClient(await db.aconnect(**options), schema=schema)))


@contextmanager
def caught(kind: type[Exception]) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """The error of the block, which must be of exactly this class."""
    with pytest.raises(kind) as error:
        yield error
    assert type(error.value) is kind


def scalar(conn: psycopg.Connection[Any], statement: str, *arguments: Any) -> Any:
    """The one value of a statement."""
    row = conn.execute(statement.encode(), arguments).fetchone()
    assert row is not None
    return row[0]
