"""Install and upgrade: one plan of SQL chunks, run in one transaction or printed as one file for psql."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow, dict_row, tuple_row

from dotq._errors import DotqError
from dotq._sqlfiles import (
    DEFAULT_SCHEMA,
    SqlFile,
    SqlFiles,
    check_schema_name,
    load,
    quote_name,
    sql_root,
    under_schema,
)

__all__ = [
    "Chunk",
    "MigrationError",
    "MigrationReport",
    "MigrationState",
    "SchemaStatus",
    "check_duration",
    "migrate",
    "plan",
    "release_version",
    "render",
    "sql_root",
    "status",
]

DEFAULT_LOCK_TIMEOUT = "5s"
DEFAULT_WAIT_TIMEOUT = "60s"

_DURATION = re.compile(r"\d{1,9}(ms|s|min)?")

# Every chunk asks this first, so that the printed file does nothing at all unless it runs in one transaction,
# also in a client that goes on after an error.
_GUARD = """\
    if current_setting('dotq_plan.xact', true) is distinct from pg_current_xact_id()::text then
        raise exception 'dotq must be installed in one transaction; nothing was changed'
        using errcode = 'JQ014', hint = 'Run: psql -v ON_ERROR_STOP=1 -1 -f FILE';
    end if;
"""

_START = """\
set transaction isolation level read committed, read write;
set local search_path = pg_catalog, pg_temp;
do $dotq_do$
begin
    if current_setting('server_version_num')::integer < 150000 then
        raise exception 'dotq needs PostgreSQL 15 or later; this is %', current_setting('server_version')
        using errcode = 'JQ014';
    end if;
    if getdatabaseencoding() <> 'UTF8' then
        raise exception 'dotq needs a database with encoding UTF8, since payloads are Unicode; % has %',
            current_database(), getdatabaseencoding()
        using errcode = 'JQ014',
            hint = 'Use another database: create database NAME encoding ''UTF8'' template template0;';
    end if;
    perform
        set_config('dotq_plan.xact', pg_current_xact_id()::text, true),
        set_config('client_encoding', 'UTF8', true);
end
$dotq_do$;
"""


class MigrationError(DotqError):
    """An install or upgrade that was refused or failed; the database is as it was before."""

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str | None = None,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message, sqlstate=sqlstate, hint=hint)
        self.file = file
        self.line = line


@dataclass(frozen=True)
class Chunk:
    """One step of the plan; `text` is the file in it, rewritten for the schema, which starts at `offset`."""

    name: str
    sql: str
    text: str = ""
    offset: int = 0


@dataclass(frozen=True)
class AppliedMigration:
    """A migration that this run applied."""

    version: int
    name: str
    duration_ms: int


@dataclass(frozen=True)
class MigrationReport:
    """What one run did, or with `dry_run` would have done."""

    schema: str
    release: str
    previous_release: str | None
    applied: tuple[AppliedMigration, ...]
    unchanged: int
    functions: int
    views: int
    duration_ms: int
    dry_run: bool


@dataclass(frozen=True)
class MigrationState:
    """One migration as files and ledger see it: applied, pending, edited, or unknown to this software."""

    version: int
    name: str
    state: str
    applied_at: datetime | None = None
    applied_by: str | None = None
    duration_ms: int | None = None


@dataclass(frozen=True)
class SchemaStatus:
    """How a schema compares with the files of this software."""

    schema: str
    installed: bool
    release: str
    installed_release: str | None
    migrations: tuple[MigrationState, ...]
    functions_and_views_current: bool
    drifted: tuple[str, ...]  # also another owner's functions under the names of ours

    @property
    def state(self) -> str:
        """One word: missing, unknown, edited, behind, drifted or current."""
        states = {migration.state for migration in self.migrations}
        if not self.installed:
            return "missing"
        for word in ("unknown", "edited"):
            if word in states:
                return word
        if "pending" in states or not self.functions_and_views_current:
            return "behind"
        return "drifted" if self.drifted else "current"


def release_version() -> str:
    """The version of the installed package."""
    try:
        return metadata.version("dotq")
    except metadata.PackageNotFoundError:
        return "0+unpackaged"


def check_duration(value: str) -> str:
    """Return a timeout in PostgreSQL's notation, or raise ValueError."""
    if not _DURATION.fullmatch(value):
        raise ValueError(f"{value!r} is not a duration such as 5s, 500ms or 2min")
    return value


def plan(
    schema: str = DEFAULT_SCHEMA,
    *,
    root: Path | None = None,
    lock_timeout: str = DEFAULT_LOCK_TIMEOUT,
    wait_timeout: str = DEFAULT_WAIT_TIMEOUT,
) -> list[Chunk]:
    """The whole install as ordered chunks, the same whatever the database holds; needs no connection."""
    check_schema_name(schema)
    files = load(root)
    settings = {
        "schema": schema,
        "applied": "[]",
        "release": release_version(),
        "checksum": files.checksum,
        "migrations": json.dumps([{"version": _number(file), "checksum": file.checksum} for file in files.migrations]),
        "functions": _names(files.functions),
        "views": _names(files.views),
        "lock_timeout": check_duration(lock_timeout),
        "wait_timeout": check_duration(wait_timeout),
    }
    return [
        Chunk("(start)", _START),
        Chunk("(settings)", _settings(settings)),
        _bootstrap(files.bootstrap, schema),
        *(_migration(file, schema) for file in files.migrations),
        *(_function(file, schema) for file in files.functions),
        *(_wrapped(file, schema) for file in (*files.views, files.release)),
    ]


def render(
    schema: str = DEFAULT_SCHEMA,
    *,
    root: Path | None = None,
    lock_timeout: str = DEFAULT_LOCK_TIMEOUT,
    wait_timeout: str = DEFAULT_WAIT_TIMEOUT,
) -> str:
    """The plan as one file for psql; it gives the same database as `migrate`."""
    chunks = plan(schema, root=root, lock_timeout=lock_timeout, wait_timeout=wait_timeout)
    header = (
        f"-- dotq {release_version()} for schema {quote_name(schema)}: a fresh install, or an upgrade.\n"
        "-- Run it in one transaction; it refuses to run otherwise:\n"
        "--     psql -v ON_ERROR_STOP=1 -1 -f dotq.sql\n"
        "-- It may be run again: applied migrations are skipped, functions and views are made anew.\n"
    )
    return header + "".join(f"\n-- {chunk.name}\n{chunk.sql}" for chunk in chunks)


def migrate(
    conn: psycopg.Connection[Any],
    *,
    schema: str = DEFAULT_SCHEMA,
    lock_timeout: str = DEFAULT_LOCK_TIMEOUT,
    wait_timeout: str = DEFAULT_WAIT_TIMEOUT,
    dry_run: bool = False,
    root: Path | None = None,
) -> MigrationReport:
    """Install or upgrade in one transaction of its own; `dry_run` does all of it and rolls back."""
    chunks = plan(schema, root=root, lock_timeout=lock_timeout, wait_timeout=wait_timeout)
    if conn.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise MigrationError("the connection is inside a transaction; a migration needs its own", sqlstate="25001")
    files = load(root)
    began = time.monotonic()
    with conn.transaction(force_rollback=dry_run), conn.cursor(row_factory=tuple_row) as cursor:
        before: set[int] = set()
        previous: str | None = None
        for chunk in chunks:
            _run(cursor, chunk, chunks)
            if chunk.name == files.bootstrap.path:
                before = {row[0] for row in _query(cursor, "select version from dotq.schema_migration", schema)}
                previous = next(
                    (row[0] for row in _query(cursor, "select version from dotq.schema_release", schema)),
                    None,
                )
        ledger = _query(cursor, "select version, name, duration_ms from dotq.schema_migration order by version", schema)
    return MigrationReport(
        schema=schema,
        release=release_version(),
        previous_release=previous,
        applied=tuple(AppliedMigration(*row) for row in ledger if row[0] not in before),
        unchanged=len(before),
        functions=len(files.functions),
        views=len(files.views),
        duration_ms=round((time.monotonic() - began) * 1000),
        dry_run=dry_run,
    )


def status(conn: psycopg.Connection[Any], schema: str = DEFAULT_SCHEMA, *, root: Path | None = None) -> SchemaStatus:
    """Compare a schema with the files of this software; changes nothing."""
    check_schema_name(schema)
    files = load(root)
    try:
        with conn.transaction(force_rollback=True), conn.cursor(row_factory=dict_row) as cursor:
            return _status(cursor, schema, files)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"may not read the ledger of schema {schema}: {error.diag.message_primary}",
            sqlstate=error.sqlstate,
            hint="Connect as a role that may act as dotq_owner.",
        ) from error


def _status(cursor: psycopg.Cursor[dict[str, Any]], schema: str, files: SqlFiles) -> SchemaStatus:
    # The owner's role, where it may be taken: no other role is granted the ledger.
    cursor.execute(
        """
        select set_config('search_path', 'pg_catalog, pg_temp', true),
            set_config('quote_all_identifiers', 'off', true),
            set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO, YMD', true),
            set_config('intervalstyle', 'postgres', true)
        """
    )
    cursor.execute(
        """
        select set_config('role', rolname, true)
        from pg_roles
        where rolname = 'dotq_owner'
          and pg_has_role(
              session_user, oid,
              case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end
          )
        """
    )
    cursor.execute(
        """
        select 1
        from pg_class
        where relname = 'schema_release' and relkind = 'r' and relowner = to_regrole('dotq_owner')
          and relnamespace = (select oid from pg_namespace where nspname = %s)
        """,
        (schema,),
    )
    installed = cursor.fetchone() is not None
    ledger: dict[int, dict[str, Any]] = {}
    release: dict[str, Any] | None = None
    foreign: list[str] = []
    if installed:
        foreign = _foreign_functions(cursor, schema, files)
        rows = cursor.execute(under_schema("select * from dotq.schema_migration", schema).encode()).fetchall()
        ledger = {row["version"]: row for row in rows}
        release = cursor.execute(
            under_schema(
                """
                select s.version, s.checksum,
                    array(
                        select r.key
                        from jsonb_each_text(s.objects) as r
                        where f.found ->> r.key is distinct from r.value
                          and s.server_major = current_setting('server_version_num')::integer / 10000
                        order by r.key
                    ) as drifted
                from dotq.schema_release as s
                cross join (select dotq.fn_schema_fingerprint() as found) as f
                """,
                schema,
            ).encode()
        ).fetchone()
    return SchemaStatus(
        schema=schema,
        installed=installed,
        release=release_version(),
        installed_release=release["version"] if release else None,
        migrations=tuple(_states(files.migrations, ledger)),
        functions_and_views_current=release is not None and release["checksum"] == files.checksum,
        drifted=(*(release["drifted"] if release else ()), *foreign),
    )


def _foreign_functions(cursor: psycopg.Cursor[dict[str, Any]], schema: str, files: SqlFiles) -> list[str]:
    # A call finds the function whose parameters fit best, whoever owns it.
    cursor.execute(
        """
        select format(
            'foreign function %%s(%%s) of %%s', p.proname, pg_get_function_identity_arguments(p.oid), r.rolname
        ) as name
        from pg_proc as p
        join pg_namespace as n on n.oid = p.pronamespace
        join pg_roles as r on r.oid = p.proowner
        where n.nspname = %s and p.proname = any(%s) and r.rolname <> 'dotq_owner'
        order by name
        """,
        (schema, [*(file.stem for file in files.functions), "fn_schema_fingerprint"]),
    )
    return [row["name"] for row in cursor.fetchall()]


def _states(files: tuple[SqlFile, ...], ledger: dict[int, dict[str, Any]]) -> list[MigrationState]:
    known = {_number(file): file for file in files}
    states = []
    for version in sorted(known.keys() | ledger.keys()):
        file, row = known.get(version), ledger.get(version)
        if file is None:
            word = "unknown"
        elif row is None:
            word = "pending"
        else:
            word = "applied" if row["checksum"] == file.checksum else "edited"
        states.append(
            MigrationState(
                version=version,
                name=row["name"] if row else file.stem if file else "",
                state=word,
                applied_at=row["applied_at"] if row else None,
                applied_by=row["applied_by"] if row else None,
                duration_ms=row["duration_ms"] if row else None,
            )
        )
    return states


def _run(cursor: psycopg.Cursor[TupleRow], chunk: Chunk, chunks: list[Chunk]) -> None:
    """Run one chunk; an error names the file it comes from, and the line where the server knows it."""
    try:
        cursor.execute(chunk.sql.encode())
    except psycopg.Error as error:
        if error.sqlstate is None:
            raise
        file, line = _locate(error, chunk, chunks)
        message = error.diag.message_primary or str(error)
        hint = error.diag.message_hint
        if error.sqlstate == "55P03" and not hint:
            hint = "Somebody holds a lock that this step needs. Run it again, or with a longer --lock-timeout."
        refused = chunk.text == "" or chunk.name == "bootstrap.sql"
        where = "" if refused else f"{file} line {line}: " if line else f"{file}: "
        raise MigrationError(where + message, sqlstate=error.sqlstate, hint=hint, file=file, line=line) from error


def _locate(error: psycopg.Error, chunk: Chunk, chunks: list[Chunk]) -> tuple[str, int | None]:
    """File and line of an error; a function body checked at the end is found in the file that made it."""
    diag = error.diag
    if diag.internal_position and diag.internal_query:
        for candidate in (chunk, *chunks):
            start = candidate.text.find(diag.internal_query)
            if start >= 0:
                position = start + int(diag.internal_position) - 1
                return candidate.name, candidate.text.count("\n", 0, position) + 1
    elif diag.statement_position and chunk.text:
        position = int(diag.statement_position) - 1 - chunk.offset
        if 0 <= position <= len(chunk.text):
            return chunk.name, chunk.text.count("\n", 0, position) + 1
    return chunk.name, None


def _query(cursor: psycopg.Cursor[TupleRow], query: str, schema: str) -> list[TupleRow]:
    return cursor.execute(under_schema(query, schema).encode()).fetchall()


def _number(file: SqlFile) -> int:
    return int(file.stem[:4])


def _names(files: tuple[SqlFile, ...]) -> str:
    return "{" + ",".join(file.stem for file in files) + "}"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _settings(values: dict[str, str]) -> str:
    lines = ",\n        ".join(
        f"set_config({_literal('dotq_plan.' + name)}, {_literal(value)}, true)" for name, value in values.items()
    )
    return f"do $dotq_do$\nbegin\n{_GUARD}    perform\n        {lines};\nend\n$dotq_do$;\n"


def _tag(word: str, text: str) -> str:
    """A dollar quote that does not occur in the text."""
    tag, number = f"${word}$", 0
    while tag in text:
        number += 1
        tag = f"${word}{number}$"
    return tag


def _assemble(name: str, text: str, head: str, tail: str) -> Chunk:
    outer, inner = _tag("dotq_do", text), _tag("dotq_file", text)
    opening = f"do {outer}\n{head}execute {inner}"
    return Chunk(name, f"{opening}{text}{inner};\n{tail}end\n{outer};\n", text, len(opening))


def _wrapped(file: SqlFile, schema: str) -> Chunk:
    return _assemble(file.path, under_schema(file.text, schema), f"begin\n{_GUARD}    ", "")


def _function(file: SqlFile, schema: str) -> Chunk:
    # create or replace is the usual way, as it keeps the oid and the rights that others were given. It cannot change a
    # result or the names of parameters (42P13), and with other parameters makes an overload, at which the file's
    # comment on function stops (42725): the old function then makes way, and the file is applied again.
    head = f"begin\n{_GUARD}    for l_round in 1 .. 2 loop\n        begin\n            "
    tail = f"""\
            exit;
        exception
            when sqlstate '42P13' or sqlstate '42725' then
                if l_round = 2 then
                    raise;
                end if;
                perform
                    set_config('dotq_plan.function', {_literal(file.stem)}, true),
                    set_config('dotq_plan.reason', sqlerrm, true);
                execute current_setting('dotq_plan.make_way');
        end;
    end loop;
"""
    return _assemble(file.path, under_schema(file.text, schema), head, tail)


def _bootstrap(file: SqlFile, schema: str) -> Chunk:
    # Its errors are refusals to be read by people: raised again, without the text of the file as context.
    head = f"declare\n    l_message text;\n    l_state text;\n    l_hint text;\nbegin\n{_GUARD}    "
    tail = """\
exception
    when others then
        get stacked diagnostics
            l_message = message_text, l_state = returned_sqlstate, l_hint = pg_exception_hint;
        raise exception using message = l_message, errcode = l_state, hint = l_hint;
"""
    return _assemble(file.path, under_schema(file.text, schema), head, tail)


def _migration(file: SqlFile, schema: str) -> Chunk:
    ledger = f"{quote_name(schema)}.schema_migration"
    version = _number(file)
    head = (
        "declare\n    l_began timestamptz := clock_timestamp();\nbegin\n"
        f"{_GUARD}"
        f"    if exists (select from {ledger} where version = {version}) then\n"
        "        return;\n    end if;\n    "
    )
    tail = f"""\
    perform set_config(
        'dotq_plan.applied',
        (current_setting('dotq_plan.applied')::jsonb || jsonb_build_object(
            'version', {version}, 'name', {_literal(file.stem)}, 'checksum', {_literal(file.checksum)},
            'duration_ms', round(extract(epoch from clock_timestamp() - l_began) * 1000)
        ))::text,
        true
    );
"""
    return _assemble(file.path, under_schema(file.text, schema), head, tail)


def as_json(value: MigrationReport | SchemaStatus) -> dict[str, Any]:
    """Plain values for JSON; times in ISO 8601."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(value), default=datetime.isoformat))
    if isinstance(value, SchemaStatus):
        plain["state"] = value.state
    return plain
