"""Where the test server comes from: embedded, any server by DSN, or a container."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dotq._server import EphemeralServer, ServerError
from dotq._server._binaries import wheel_installation

# A test that went wrong while it held a lock fails within minutes instead of hanging for ever.
_SETTINGS = {
    "max_connections": "200",
    "idle_in_transaction_session_timeout": "90s",
    "statement_timeout": "120s",
}


class BackendError(Exception):
    """There is no server to test on; the message is one sentence."""


class Backend(Protocol):
    """A PostgreSQL that tests may do anything to, within databases of their own."""

    shared: bool

    def start(self) -> None:
        """Make the server reachable."""

    def stop(self) -> None:
        """Undo start."""

    def dsn(self, dbname: str | None = None) -> str:
        """A superuser's connection string; without a name, for the maintenance database."""

    def bin(self, name: str) -> Path:
        """One of PostgreSQL's client programs."""


class Embedded:
    """A throw-away server of our own."""

    shared = False

    def __init__(self, pg: str | None) -> None:
        try:
            self.server = EphemeralServer(pg, settings=_SETTINGS)
        except ServerError as error:
            raise BackendError(f"{error} ({error.hint})" if error.hint else str(error)) from error

    def start(self) -> None:
        try:
            self.server.start()
        except ServerError as error:
            raise BackendError(str(error)) from error

    def stop(self) -> None:
        self.server.stop()

    def dsn(self, dbname: str | None = None) -> str:
        return self.server.dsn(dbname or "postgres")

    def bin(self, name: str) -> Path:
        """The server's own program; where it has none, one from the wheel."""
        path = self.server.installation.bindir / name
        return path if path.is_file() else client_program(name, self.dsn())


class External:
    """A server that somebody else runs; only databases made by this run are touched."""

    shared = True

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def dsn(self, dbname: str | None = None) -> str:
        if dbname is None:
            return make_conninfo(self._dsn, dbname=conninfo_to_dict(self._dsn).get("dbname") or "postgres")
        return make_conninfo(self._dsn, dbname=dbname)

    def bin(self, name: str) -> Path:
        return client_program(name, self.dsn())


def client_program(name: str, dsn: str) -> Path:
    """The wheel's program that suits a server: a dump by 17 or newer sets what 16 and older do not know."""
    with psycopg.connect(dsn) as conn:
        major = conn.info.server_version // 10000
    return wheel_installation("16" if major <= 16 else "18").bin(name)


def choose_backend() -> Backend:
    """DOTQ_TEST_DSN, then DOTQ_TEST_BACKEND=docker, else embedded (DOTQ_TEST_PG picks the version)."""
    dsn = os.environ.get("DOTQ_TEST_DSN")
    if dsn:
        return External(dsn)
    kind = os.environ.get("DOTQ_TEST_BACKEND") or "embedded"
    if kind == "docker":
        from harness.container import Container  # noqa: PLC0415 - only this backend needs its libraries

        return Container()
    if kind != "embedded":
        raise BackendError(f"DOTQ_TEST_BACKEND is {kind!r}; it may be embedded or docker")
    return Embedded(os.environ.get("DOTQ_TEST_PG") or None)
