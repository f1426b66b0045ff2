"""One server per run, one template with dotq in it, one clone per test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import psycopg
from psycopg import sql

from dotq._migrate import migrate
from harness import pgtap
from harness.backends import Backend, choose_backend
from harness.waiting import DEADLINE_SECONDS, wait_blocked, wait_for

__all__ = ["DEADLINE_SECONDS", "GATES", "Database", "Harness", "HarnessError", "wait_blocked", "wait_for"]

GATES = ("queue.job_substrate.enabled", "queue.heartbeat.enabled", "queue.worker.enabled")


class HarnessError(Exception):
    """The ground the tests stand on is not there; the message is one sentence."""


class Database:
    """One database of the test server; its connections are closed when the test ends."""

    def __init__(self, name: str, dsn: str) -> None:
        self.name = name
        self.dsn = dsn
        self._open: list[psycopg.Connection[Any] | psycopg.AsyncConnection[Any]] = []

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A superuser's connection, autocommit unless told otherwise."""
        options.setdefault("autocommit", True)
        conn: psycopg.Connection[Any] = psycopg.connect(self.dsn, **options)
        self._open.append(conn)
        return conn

    async def aconnect(self, **options: Any) -> psycopg.AsyncConnection[Any]:
        """The same for asyncio."""
        options.setdefault("autocommit", True)
        conn: psycopg.AsyncConnection[Any] = await psycopg.AsyncConnection.connect(self.dsn, **options)
        self._open.append(conn)
        return conn

    def close(self) -> None:
        """Close what the test left open; asynchronous connections too, whose loop may be gone."""
        for conn in self._open:
            with suppress(psycopg.Error):
                conn.pgconn.finish()
        self._open.clear()


class Harness:
    """Everything the fixtures share; each part is made when it is first needed."""

    def __init__(self) -> None:
        self.backend: Backend = choose_backend()
        self._run = f"dotq_test_{os.getpid()}_{os.urandom(3).hex()}"
        self._count = 0
        self.admin: psycopg.Connection[Any]
        self.description = "none"
        self._started = False
        self._failure: str | None = None

    def start(self) -> None:
        """Start the server and open the connection that makes and drops databases."""
        self.backend.start()
        self._started = True
        try:
            self.admin = psycopg.connect(self.backend.dsn(), autocommit=True, connect_timeout=15)
        except psycopg.Error as error:
            raise HarnessError(f"cannot connect to it: {str(error).splitlines()[0]}") from error
        version = self.admin.info.parameter_status("server_version")
        self.description = f"PostgreSQL {version} ({type(self.backend).__name__.lower()})"

    def stop(self) -> None:
        """Drop what this run made; end the server if it is ours."""
        if not self._started:
            return
        with suppress(psycopg.Error, AttributeError):
            rows = self.admin.execute(
                "select datname from pg_database where starts_with(datname, %s)", [self._run]
            ).fetchall()
            for (name,) in rows if self.backend.shared else []:
                self._drop(name)
            self.admin.close()
        self.backend.stop()

    @contextmanager
    def clone(self, template: str) -> Iterator[Database]:
        """A copy of a template, dropped at the end."""
        name = self._create(template)
        database = Database(name, self.backend.dsn(name))
        try:
            yield database
        finally:
            database.close()
            self._drop(name)

    @cached_property
    def bare_template(self) -> str:
        """pgTAP and dotq as a fresh install leaves it: every gate closed."""
        return self._template("bare", "template0", self._install)

    @cached_property
    def open_template(self) -> str:
        """The same with the gates opened."""
        return self._template("open", self.bare_template, _open_gates)

    @cached_property
    def pgtap_database(self) -> Database:
        """Where every pgTAP file runs, each in a transaction that it rolls back."""
        name = self._create(self.bare_template)
        return Database(name, self.backend.dsn(name))

    def _template(self, suffix: str, source: str, fill: Callable[[psycopg.Connection[Any]], None]) -> str:
        """Make a template once; when that fails, fail the same way for every test that needs it."""
        if self._failure is not None:
            raise HarnessError(self._failure)
        name = self._create(source, suffix)
        try:
            with psycopg.connect(self.backend.dsn(name), autocommit=True) as conn:
                fill(conn)
        except (HarnessError, pgtap.PgTapMissing) as error:
            self._failure = str(error)
        except Exception as error:
            self._failure = f"the template database cannot be made: {type(error).__name__}: {error}"
        if self._failure is not None:
            raise HarnessError(self._failure)
        return name

    def _install(self, conn: psycopg.Connection[Any]) -> None:
        pgtap.load(conn)
        migrate(conn, schema="dotq")

    def _create(self, template: str, suffix: str | None = None) -> str:
        self._count += 1
        name = f"{self._run}_{suffix or self._count}"
        statement = sql.SQL("create database {} template {} strategy file_copy")
        self.admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def _drop(self, name: str) -> None:
        self.admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def _open_gates(conn: psycopg.Connection[Any]) -> None:
    for gate in GATES:
        conn.execute("select dotq.fn_config_set(%s, %s, %s)", [gate, "true", "tests"])
