"""Installed without a superuser, dotq has the same objects, owners and rights; nobody ends up with more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dotq._migrate import migrate, status
from dotq._server import EphemeralServer

# Every object with its owner and its rights, every role with its attributes; without oids.
_RIGHTS = """
select 'function ' || oid::regprocedure, proowner::regrole::text,
    array(select unnest(proacl)::text order by 1), prosecdef, proconfig
from pg_proc where pronamespace = 'dotq'::regnamespace
union all
select 'relation ' || relname, relowner::regrole::text,
    array(select unnest(relacl)::text order by 1), relrowsecurity, reloptions
from pg_class where relnamespace = 'dotq'::regnamespace and relkind <> 'i'
union all
select 'type ' || typname, typowner::regrole::text, array(select unnest(typacl)::text order by 1), false, null
from pg_type where typnamespace = 'dotq'::regnamespace and typtype = 'd'
union all
select 'schema', nspowner::regrole::text, array(select unnest(nspacl)::text order by 1), false, null
from pg_namespace where nspname = 'dotq'
union all
select 'role ' || rolname, rolsuper::text || rolcanlogin || rolcreaterole || rolcreatedb || rolbypassrls,
    null, rolinherit, rolconfig
from pg_roles where rolname like 'dotq\\_%' and rolname not like 'dotq\\_test\\_%'
order by 1
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EphemeralServer]:
    """A server that has never seen dotq's roles."""
    with _new_server() as server:
        yield server


def _new_server() -> EphemeralServer:
    return EphemeralServer(os.environ.get("DOTQ_TEST_PG") or None)


def rights(conn: psycopg.Connection[Any]) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row[1:] for row in conn.execute(_RIGHTS).fetchall()}


def test_a_role_manager_who_may_create_schemas_can_install_it(cluster: EphemeralServer) -> None:
    with psycopg.connect(cluster.dsn(), autocommit=True) as admin:
        admin.execute("create role installer login createrole nosuperuser")
        admin.execute("create database jobs")
        admin.execute("grant create on database jobs to installer")
    with psycopg.connect(cluster.dsn("jobs"), user="installer", autocommit=True) as conn:
        report = migrate(conn)
        assert report.applied
        assert status(conn).state == "current"
        assert migrate(conn).applied == (), "and upgrade it"
        found = rights(conn)
        assert conn.execute(
            "select current_user::text, usesuper from pg_user where usename = current_user"
        ).fetchone() == (
            "installer",
            False,
        )
    # A superuser's installation on a server of the same version: each has its own set of rights.
    with _new_server() as other, psycopg.connect(other.dsn(), autocommit=True) as conn:
        migrate(conn)
        expected = rights(conn)
    assert found.keys() == expected.keys()
    assert {name: (found[name], expected[name]) for name in found if found[name] != expected[name]} == {}
    assert len(found) > 100


def test_who_may_neither_make_roles_nor_schemas_is_told_what_to_ask_for(cluster: EphemeralServer) -> None:
    with psycopg.connect(cluster.dsn(), autocommit=True) as admin:
        admin.execute("create role nobody_special login")
        admin.execute("create database other")
    with psycopg.connect(cluster.dsn("other"), user="nobody_special", autocommit=True) as conn:
        with pytest.raises(Exception, match="may not") as caught:
            migrate(conn)
        assert getattr(caught.value, "sqlstate", None) == "JQ014"
        assert "grant" in str(getattr(caught.value, "hint", ""))
        assert conn.execute("select to_regnamespace('dotq')").fetchone() == (None,)
