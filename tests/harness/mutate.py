"""Break the SQL functions, one small change at a time, and see whether a pgTAP test notices.

A mutant that no test notices is printed with its line: either a test is missing or the line is not needed.
Usage: python tests/harness/mutate.py [--only PART-OF-A-NAME] [--list]
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from harness.collector import SEARCH_PATH, run_script
from harness.databases import Database, Harness
from harness.statements import split

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "pgtap"

_BODY = re.compile(r"(?P<head>.*?\bas \$fn\$\n)(?P<body>.*?)(?P<tail>\$fn\$;)", re.DOTALL)
_SWAPS = (
    (r"(?<![<>:=-])<=(?!>)", "<"),
    (r"(?<![<>:=-])>=", ">"),
    (r"(?<![<>=-])<(?![<>=@|])", "<="),
    (r"(?<![<>=|-])>(?![<>=>])", ">="),
    (r"<>", "="),
    (r"\bis not null\b", "is null"),
    (r"\bis null\b", "is not null"),
    (r"\bnot between\b", "between"),
    (r"\bnot in\b", "in"),
    (r"\bnot exists\b", "exists"),
    (r"(?<!is )\bnot (?=coalesce|dotq|\(|l_|exists)", ""),
    (r"\bis distinct from\b", "is not distinct from"),
    (r"\band\b(?! lease_token)", "or"),
    (r"\bor\b(?! lease_token)", "and"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bgreatest\b", "least"),
    (r"\bleast\b", "greatest"),
    (r"\+ 1\b", "+ 0"),
    (r"- 1\b", "- 0"),
    (r"\bskip locked\b", ""),
)
_DROPS = (
    r"^ *(and|or) .*\n",
    r"^ *perform dotq\.fn_\w+\([^\n]*\);\n",
    r"^ *[a-z_]+ = [^\n]*,\n",
    r"^ *[a-z_.]+ := [^\n]*;\n",
)


@dataclass(frozen=True)
class Mutant:
    """One function with one thing wrong."""

    function: str
    what: str
    sql: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of one function file."""
    text = path.read_text(encoding="utf-8")
    found = _BODY.match(text)
    if found is None:
        return
    head, body, tail = found["head"], found["body"], found["tail"]

    def made(what: str, changed: str) -> Mutant:
        return Mutant(path.stem, what, f"{head}{changed}{tail}")

    yield made("body emptied", _empty(head))
    code = re.sub(r"'(?:[^']|'')*'|--[^\n]*", lambda quoted: "\0" * len(quoted[0]), body)
    for pattern, replacement in _SWAPS:
        for hit in re.finditer(pattern, code):
            changed = body[: hit.start()] + replacement + body[hit.end() :]
            yield made(f"{hit[0]!r} → {replacement!r}: {_line(body, hit.start())}", changed)
    for pattern in _DROPS:
        for hit in re.finditer(pattern, code, re.MULTILINE):
            changed = body[: hit.start()] + body[hit.end() :]
            yield made(f"dropped: {body[hit.start() : hit.end()].strip()}", changed)


def _empty(head: str) -> str:
    returns = re.search(r"\breturns (\S.*)", head)
    kind = returns[1].strip() if returns else "void"
    if "language sql" in head:
        return "select null\n" if not kind.startswith("table") else "select null where false\n"
    if kind == "trigger":
        return "begin return null; end\n"
    if kind.startswith(("table", "setof", "void", "record")):
        return "begin return; end\n"
    return "begin return null; end\n"


def _line(body: str, position: int) -> str:
    start = body.rfind("\n", 0, position) + 1
    return body[start : body.find("\n", position)].strip()


def survives(harness: Harness, mutant: Mutant) -> bool | None:
    """Whether no test notices the mutant; None when PostgreSQL does not even accept it."""
    with harness.clone(harness.bare_template) as database:
        conn = database.connect()
        try:
            conn.execute("set role dotq_owner")
            conn.execute(mutant.sql.encode())
        except psycopg.Error:
            return None
        own = TESTS / f"{mutant.function}.sql"
        others = sorted(path for path in TESTS.glob("*.sql") if path != own)
        return all(_passes(database, path) for path in [own, *others] if path.exists())


def _passes(database: Database, path: Path) -> bool:
    with psycopg.connect(database.dsn, autocommit=True, options="-c statement_timeout=10s") as conn:
        conn.execute(f"set search_path = {SEARCH_PATH}")
        return not run_script(conn, list(split(path.read_text(encoding="utf-8"))), path).problems


def main() -> int:
    """Try every mutant; 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a function's name")
    parser.add_argument("--list", action="store_true", help="print the mutants, try none")
    options = parser.parse_args()
    files = sorted(
        path for path in (ROOT / "sql" / "functions").rglob("fn_*.sql") if options.only in path.stem
    )
    if options.list:
        for path in files:
            for mutant in mutants(path):
                print(f"{mutant.function}: {mutant.what}")
        return 0
    tried = killed = 0
    survivors: list[Mutant] = []
    harness = Harness()
    harness.start()
    try:
        for path in files:
            began, before = time.monotonic(), tried
            alive = 0
            for mutant in mutants(path):
                verdict = survives(harness, mutant)
                if verdict is None:
                    continue
                tried += 1
                killed += not verdict
                if verdict:
                    alive += 1
                    survivors.append(mutant)
                    print(f"SURVIVED {mutant.function}: {mutant.what}", flush=True)
            print(
                f"{path.stem}: {tried - before} mutants, {alive} survived ({time.monotonic() - began:.1f} s)",
                flush=True,
            )
    finally:
        harness.stop()
    print(f"{tried} mutants: {killed} noticed, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
