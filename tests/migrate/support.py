"""A tree of SQL files to change at will, psql, and the catalogue of a schema as plain values."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from dotq._server import EphemeralServer
from dotq._sqlfiles import quote_name, sql_root
from harness.backends import Backend
from harness.databases import wait_blocked


class Tree:
    """A small release of its own: the real bootstrap and release files around two migrations of a library."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("bootstrap.sql", "release.sql"):
            self.write(name, (sql_root() / name).read_text())
        self.write(
            "migrations/0001_books.sql",
            "create table dotq.book (title text not null, pages integer check (pages > 0));\n"
            "comment on table dotq.book is 'Books.';\n",
        )
        self.function("fn_book_count", "select count(*) from dotq.book")
        self.view("v_book", "select title from dotq.book")

    def write(self, path: str, text: str) -> None:
        """Make or replace one file, bytes as given."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())

    def remove(self, path: str) -> None:
        """Delete one file."""
        (self.root / path).unlink()

    def function(self, name: str, body: str, *, language: str = "sql", returns: str = "bigint") -> None:
        """A function file as the repository writes them."""
        self.write(
            f"functions/book/{name}.sql",
            f"create or replace function dotq.{name}()\nreturns {returns}\nlanguage {language}\n"
            f"set search_path = pg_catalog, pg_temp\nas $fn$\n{body}\n$fn$;\n\n"
            f"comment on function dotq.{name} is 'It is {name}.';\n",
        )

    def view(self, name: str, body: str) -> None:
        """A view file."""
        self.write(f"views/{name}.sql", f"create view dotq.{name} as\n{body};\n")


class Cluster:
    """A server of its own, for tests about roles: those belong to a whole cluster."""

    def __init__(self, server: EphemeralServer) -> None:
        self.server = server

    def database(self) -> str:
        """Make an empty database; returns its name."""
        name = f"migrate_{uuid4().hex[:12]}"
        self.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        return name

    def execute(self, *statements: str | sql.Composed, dbname: str = "postgres") -> None:
        """Run statements as the superuser."""
        with psycopg.connect(self.server.dsn(dbname), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode() if isinstance(statement, str) else statement)

    def connect(self, dbname: str, user: str | None = None) -> psycopg.Connection:
        """A connection, by default the superuser's."""
        options: dict[str, Any] = {"user": user} if user else {}
        return psycopg.connect(self.server.dsn(dbname), autocommit=True, **options)

    def wait_until_blocked(self, pid: int) -> None:
        """Return once the session waits for another one."""
        with self.connect("postgres") as watcher:
            wait_blocked(watcher, pid)


def psql(server: Backend, dsn: str, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run psql on a script, without anybody's settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.run(
        [str(server.bin("psql")), "-X", "-q", *options, "-d", dsn],
        input=script,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )


# Everything a schema consists of, one row per fact, without oids and times.
_CATALOGUE = """
with home as (select oid, nspname, nspowner, nspacl from pg_namespace where nspname = %s)
select 'schema', '',
    jsonb_build_array(nspowner::regrole, nspacl::text[], obj_description(oid, 'pg_namespace'))
from home
union all
select 'default acl', format('%%s %%s', d.defaclrole::regrole, d.defaclobjtype), to_jsonb(d.defaclacl::text[])
from pg_default_acl as d where d.defaclnamespace in (0, (select oid from home))
union all
select 'relation', c.relname, jsonb_build_array(
    c.relkind, c.relowner::regrole, c.relacl::text[], c.reloptions,
    c.relpersistence, c.relispartition, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
    obj_description(c.oid, 'pg_class'),
    case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
    case when c.relkind in ('i', 'I') then pg_get_indexdef(c.oid) end,
    (select to_jsonb(s) - 'seqrelid' from pg_sequence as s where s.seqrelid = c.oid))
from pg_class as c join home on home.oid = c.relnamespace
union all
select 'column', c.relname || '.' || a.attname, jsonb_build_array(
    a.attnum, format_type(a.atttypid, a.atttypmod),
    a.attnotnull, a.attidentity, a.attgenerated, a.attcollation::regcollation, a.attstorage, a.attacl::text[],
    pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum))
from pg_class as c join home on home.oid = c.relnamespace
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
union all
select 'constraint', coalesce(c.relname, t.typname) || '.' || k.conname,
    jsonb_build_array(pg_get_constraintdef(k.oid), k.convalidated, obj_description(k.oid, 'pg_constraint'))
from pg_constraint as k join home on home.oid = k.connamespace
left join pg_class as c on c.oid = k.conrelid left join pg_type as t on t.oid = k.contypid
union all
select 'type', t.typname, jsonb_build_array(t.typtype, t.typowner::regrole, t.typacl::text[], t.typnotnull,
    t.typdefault, format_type(t.typbasetype, t.typtypmod), obj_description(t.oid, 'pg_type'))
from pg_type as t join home on home.oid = t.typnamespace
union all
select 'function', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
    jsonb_build_array(pg_get_functiondef(p.oid), p.prosrc, p.proconfig, p.proacl::text[], p.proowner::regrole,
    obj_description(p.oid, 'pg_proc'))
from pg_proc as p join home on home.oid = p.pronamespace where p.prokind <> 'a'
union all
select 'trigger', c.relname || '.' || t.tgname, jsonb_build_array(pg_get_triggerdef(t.oid), t.tgenabled,
    obj_description(t.oid, 'pg_trigger'))
from pg_trigger as t join pg_class as c on c.oid = t.tgrelid join home on home.oid = c.relnamespace
where not t.tgisinternal
union all
select 'policy', c.relname || '.' || p.polname,
    jsonb_build_array(p.polcmd, pg_get_expr(p.polqual, p.polrelid))
from pg_policy as p join pg_class as c on c.oid = p.polrelid join home on home.oid = c.relnamespace
order by 1, 2
"""

_ROWS = {
    "schema_migration": "version, name, checksum, applied_by",
    "schema_release": "version, checksum, functions, views, server_major",
    "dot_config": "key, value, description",
}


def catalogue(connection: psycopg.Connection[Any], schema: str = "dotq") -> dict[str, str]:
    """Every fact about a schema, its ledger and its settings, by name; told as if the schema were dotq."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog")
        found = connection.execute(_CATALOGUE, (schema,)).fetchall()
        facts = {f"{kind} {name}": value for kind, name, value in found}
        for table, columns in _ROWS.items():
            if f"relation {table}" in facts:
                query = sql.SQL("select to_jsonb(t) from (select {} from {}) as t order by t::text").format(
                    sql.SQL(columns),
                    sql.Identifier(schema, table),
                )
                facts[f"rows {table}"] = connection.execute(query).fetchall()
    qualifier = quote_name(schema) + "."
    written = json.dumps(qualifier, ensure_ascii=False)[1:-1]
    return {
        name.replace(qualifier, "dotq."): json.dumps(value, ensure_ascii=False).replace(written, "dotq.")
        for name, value in facts.items()
    }
