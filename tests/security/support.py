"""Logins with few rights, for the tests of who may do what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from harness.databases import Database

Connection = psycopg.Connection[Any]
DENIED = "42501"


@contextmanager
def login(db: Database, *roles: str) -> Iterator[Connection]:
    """A connection of a new login that is a member of these roles and of nothing else."""
    admin = db.connect()
    name, password = f"dotq_test_login_{os.getpid()}_{os.urandom(3).hex()}", os.urandom(12).hex()
    identity = sql.Identifier(name)
    admin.execute(sql.SQL("create role {} login password {}").format(identity, sql.Literal(password)))
    try:
        for role in roles:
            admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), identity))
        with psycopg.connect(db.dsn, user=name, password=password, autocommit=True) as conn:
            yield conn
    finally:
        admin.execute(sql.SQL("drop owned by {} cascade").format(identity))
        admin.execute(sql.SQL("drop role {}").format(identity))


def outcome(conn: Connection, statement: str | sql.Composed, **settings: str) -> str:
    """What a statement, which is undone, comes to under the session's settings: ok, or the SQLSTATE."""
    for name, value in settings.items():
        conn.execute("select pg_catalog.set_config(%s, %s, false)", [name, value])
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(statement.encode() if isinstance(statement, str) else statement)
    except psycopg.Error as error:
        return error.sqlstate or "none"
    finally:
        for name in settings:
            conn.execute(sql.SQL("reset {}").format(sql.Identifier(*name.split("."))))
    return "ok"


def call(function: str, arguments: dict[str, Any]) -> sql.Composed:
    """A call whose arguments are bare literals, so that no type is named outside the function."""
    literals = []
    for name, value in arguments.items():
        if isinstance(value, list):
            text: str | None = "{" + ",".join(value) + "}"
        else:
            text = None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        literals.append(sql.SQL("{} => {}").format(sql.Identifier(name), sql.Literal(text)))
    return sql.SQL("select * from {}({})").format(sql.Identifier("dotq", function), sql.SQL(", ").join(literals))
