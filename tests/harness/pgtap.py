"""pgTAP: found or fetched, and loaded into the schema `tap`. Without it no test run is green."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg

from harness.fetch import FetchError, NpmPackage, debian_package, npm_package

SCHEMA = "tap"
# pgTAP 1.3.5 as plain SQL.
_PACKAGE = NpmPackage(
    "@electric-sql/pglite-pgtap",
    "0.0.15",
    "sha512-WWyw8E/V69RbkEpWBAsZX/Jd9GnTLu7p4mNy54fAsjcmJ5NX3xYm4S8YOKGEcOEAQnaGb+gixPQq/2SO3rT3DQ==",
)
_DEBIAN = [f"postgresql-{major}-pgtap" for major in ("17", "16", "15", "18", "14")]
_EXTENSION_DIRECTORIES = (
    "/usr/share/postgresql/*/extension",
    "/usr/share/pgsql/extension",
    "/usr/pgsql-*/share/extension",
    "/opt/homebrew/share/postgresql*/extension",
    "/usr/local/share/postgresql*/extension",
)
_INSTALL_SCRIPT = re.compile(r"pgtap--(\d+(?:\.\d+)+)\.sql")


class PgTapMissing(Exception):
    """pgTAP is nowhere to be had."""


def load(conn: psycopg.Connection) -> str:
    """Put pgTAP into its schema and return the version; the server's own extension comes first."""
    conn.execute(f"create schema {SCHEMA}")
    offered = conn.execute("select 1 from pg_available_extensions where name = 'pgtap'").fetchone()
    if offered is not None:
        conn.execute(f"create extension pgtap schema {SCHEMA}")
    else:
        script = find()
        # Lines that start with a backslash are for psql; the rest is plain SQL.
        lines = script.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("\\"))
        with conn.transaction():
            conn.execute(f"set local search_path = {SCHEMA}")
            conn.execute("set local client_min_messages = warning")
            conn.execute(text.encode())
    conn.execute(f"grant usage on schema {SCHEMA} to public")
    row = conn.execute(f"select {SCHEMA}.pgtap_version()").fetchone()
    assert row is not None
    return str(row[0])


def find() -> Path:
    """The install script: PGTAP_SQL, the system's extension directories, the cache, npm, apt."""
    named = os.environ.get("PGTAP_SQL")
    if named:
        if not Path(named).is_file():
            raise PgTapMissing(f"PGTAP_SQL names {named}, which is not a file")
        return Path(named)
    for pattern in _EXTENSION_DIRECTORIES:
        found = _newest(Path("/").glob(pattern.lstrip("/") + "/pgtap--*.sql"))
        if found is not None:
            return found
    tried = []
    for name, way in _WAYS.items():
        try:
            return way()
        except FetchError as error:
            tried.append(f"{name}: {error}")
    raise PgTapMissing(
        f"pgTAP cannot be fetched ({'; '.join(tried)}): install it, or set PGTAP_SQL to its pgtap--<version>.sql"
    )


def _from_apt() -> Path:
    found = _newest(debian_package("pgtap", _DEBIAN).glob("usr/share/postgresql/*/extension/pgtap--*.sql"))
    if found is None:
        raise FetchError("the package has no install script")
    return found


def _from_npm(*, bring_npm: bool = False) -> Path:
    package = npm_package(_PACKAGE, bring_npm=bring_npm)
    script = package / "pgtap.sql"
    if not script.exists():
        with tarfile.open(package / "dist" / "pgtap.tar.gz") as tar:
            member = tar.extractfile("share/postgresql/extension/pgtap.sql")
            assert member is not None
            part = package / f"pgtap.sql.{os.getpid()}"
            part.write_bytes(member.read())
            part.replace(script)
    return script


def _newest(paths: Iterable[Path]) -> Path | None:
    scripts: list[tuple[list[int], Path]] = []
    for path in paths:
        match = _INSTALL_SCRIPT.fullmatch(path.name)
        if match:
            scripts.append(([int(part) for part in match.group(1).split(".")], path))
    return max(scripts)[1] if scripts else None


# The lightest first: with an npm at hand, with apt, with an npm that pip brings.
_WAYS: dict[str, Callable[[], Path]] = {
    "npm": _from_npm,
    "apt": _from_apt,
    "pip": lambda: _from_npm(bring_npm=True),
}
