"""Everything that judges the code without running the queue; each tool's findings are shown as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from dotq._migrate import migrate
from dotq._server import EphemeralServer, ServerError
from harness.fetch import FetchError, debian_package
from harness.matrix import environment_for

_ROOT = Path(__file__).resolve().parents[2]
_BIN = Path(sys.executable).parent
# Not for us: a release is applied in one transaction with its own lock_timeout (so nothing is half done and
# nothing can be built concurrently), small counters are integers, and column checks are domains on purpose.
_SQUAWK_EXCLUDED = (
    "prefer-robust-stmts",
    "require-concurrent-index-creation",
    "require-timeout-settings",
    "prefer-bigint-over-int",
    "ban-create-domain-with-constraint",
)
# Not for us: objects are re-created on every upgrade, in a schema where nobody else may create anything, and
# views and tables are read under the search path that the migrator pins.
_PGSPOT_IGNORED = ("PS001", "PS002", "PS009", "PS012", "PS016", "PS017")
# Its parser does not know the fields of a record; PostgreSQL does.
_PGSPOT_LIMIT = "is not a known variable"
# Findings of plpgsql_check that fail the check; the other ones are about style and speed.
_FATAL_LEVELS = ("error", "warning", "security")

Outcome = tuple[bool, str]


def main() -> int:
    """Run every check, also after one has failed; 0 when all are content."""
    checks: list[tuple[str, Callable[[], Outcome]]] = [
        ("ruff check", lambda: _tool("ruff", "check", "python", "tests")),
        ("ruff format", lambda: _tool("ruff", "format", "--check", "python", "tests")),
        ("mypy", lambda: _tool("mypy")),
        ("pgspot", _pgspot),
        ("squawk", _squawk),
        ("generated files", _generated),
        ("plpgsql_check", _plpgsql_check),
    ]
    failed = []
    for name, check in checks:
        good, output = check()
        print(f"{'ok  ' if good else 'FAIL'} {name}", flush=True)
        for line in output.strip().splitlines() if output else []:
            print(f"     {line}")
        if not good:
            failed.append(name)
    print(f"{len(failed)} of {len(checks)} checks failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


def _run(*command: str | Path) -> Outcome:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    return done.returncode == 0, "" if done.returncode == 0 else done.stdout + done.stderr


def _tool(name: str, *arguments: str | Path) -> Outcome:
    if not (_BIN / name).exists():
        return False, f"{name} is not installed"
    return _run(_BIN / name, *arguments)


def _pgspot() -> Outcome:
    """Only the files with findings are of interest."""
    files = sorted((_ROOT / "sql").rglob("*.sql"))
    ignored = [word for code in _PGSPOT_IGNORED for word in ("--ignore", code)]
    findings = []
    for file in files:
        good, output = _tool("pgspot", *ignored, file.relative_to(_ROOT))
        lines = [line.strip() for line in output.splitlines() if line.strip() and "Errors:" not in line]
        told = [line for line in lines if not line.endswith((_PGSPOT_LIMIT, f"{file.name}:"))]
        if not good and (told or not lines):
            findings += [f"{file.relative_to(_ROOT)}: {line}" for line in told or ["pgspot failed"]]
    return not findings, "\n".join(findings)


def _squawk() -> Outcome:
    files = sorted((_ROOT / "sql" / "migrations").glob("*.sql"))
    relative = [file.relative_to(_ROOT) for file in files]
    return _tool("squawk", "--reporter", "gcc", "--exclude", ",".join(_SQUAWK_EXCLUDED), *relative)


def _generated() -> Outcome:
    return _run(sys.executable, "-m", "dotq._catalog", "--check", "sql/README.md")


def _plpgsql_check() -> Outcome:
    """Debian's build of the checker, loaded into a PostgreSQL 15; a machine without both is told so."""
    try:
        package = debian_package("plpgsql-check", ["postgresql-15-plpgsql-check"])
        os.environ["DOTQ_PG_BIN"] = environment_for("15")["DOTQ_PG_BIN"]
    except FetchError as error:
        return True, f"not run, it cannot be fetched here: {error}"
    library = next(package.rglob("plpgsql_check.so"))
    script = max(path for path in package.rglob("plpgsql_check--*.sql") if path.name.count("--") == 1)
    text = script.read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("\\"))
    text = text.replace("MODULE_PATHNAME", str(library)).replace("@extschema@", "checker")
    try:
        with EphemeralServer() as server, psycopg.connect(server.dsn(), autocommit=True) as conn:
            migrate(conn, schema="dotq")
            conn.execute("create schema checker")
            conn.execute("set search_path = checker")
            conn.execute(text.encode())
            rows = conn.execute(_CHECK_ALL).fetchall()
    except (ServerError, psycopg.Error) as error:
        return False, str(error)
    findings = [" ".join(str(word) for word in row if word is not None) for row in rows]
    return not any(row[2] in _FATAL_LEVELS for row in rows), "\n".join(findings)


_CHECK_ALL = b"""
    with subject as (
        select p.oid, p.proname, coalesce(t.tgrelid, 0::oid) as relation
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        left join pg_trigger as t on t.tgfoid = p.oid
        where p.pronamespace = 'dotq'::regnamespace and l.lanname = 'plpgsql'
          and (p.prorettype <> 'trigger'::regtype or t.tgrelid is not null)
    )
    select s.proname, 'line ' || c.lineno, c.level, c.sqlstate, c.message, c.detail, c.hint
    from subject as s,
        lateral plpgsql_check_function_tb(
            s.oid, s.relation, fatal_errors => false, other_warnings => true, extra_warnings => false,
            performance_warnings => false, security_warnings => true
        ) as c
    order by s.proname, c.lineno
"""

if __name__ == "__main__":
    sys.exit(main())
