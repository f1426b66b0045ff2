"""Break the SQL functions one small thing at a time, and see whether the function's own pgTAP file notices.

Usage: mutate.py [part of a function name ...]. An emptied body that goes unnoticed, or a function without a
pgTAP file, makes the exit code 1; other survivors are listed to be read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from harness.backends import BackendError
from harness.collector import SEARCH_PATH, run_script
from harness.databases import Harness, HarnessError
from harness.statements import code_tokens, read_script

_ROOT = Path(__file__).resolve().parents[2]
_BODY = re.compile(r"(\$fn\$)(.*?)(\$fn\$)", re.DOTALL)
_SWAPS = {
    "and": "or",
    "or": "and",
    "true": "false",
    "false": "true",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "=": "<>",
    "<>": "=",
    "+": "-",
    "-": "+",
    "least": "greatest",
    "greatest": "least",
    "asc": "desc",
    "desc": "asc",
    "min": "max",
    "max": "min",
    "0": "1",
    "1": "2",
}
# Whole lines: a condition, a check, an assignment of an update.
_DROPPED = (
    r"^ *(?:and|or) .*\n",
    r"^ *perform dotq\.fn_.*;\n",
    r"^ *[a-z_]+ = .*,\n",
)
_TIMEOUT = "10s"


@dataclass(frozen=True)
class Mutant:
    """One changed version of a file."""

    line: int
    what: str
    text: str
    emptied: bool = False


def main(arguments: list[str]) -> int:
    """Try every mutant of every chosen function."""
    files = sorted((_ROOT / "sql" / "functions").rglob("fn_*.sql"))
    chosen = [file for file in files if not arguments or any(word in file.stem for word in arguments)]
    if not chosen:
        print(f"no function is called like {' or '.join(arguments)}")
        return 2
    harness = Harness()
    try:
        harness.start()
        with harness.clone(harness.bare_template) as database:
            return _report(chosen, database.connect())
    except (BackendError, HarnessError) as error:
        print(f"no test server: {error}")
        return 3
    finally:
        harness.stop()


def _report(files: list[Path], conn: psycopg.Connection[Any]) -> int:
    conn.execute(f"set statement_timeout = '{_TIMEOUT}'")
    conn.execute(f"set search_path = {SEARCH_PATH}")
    tried = killed = 0
    untested = []
    for file in files:
        test = _ROOT / "tests" / "pgtap" / file.name
        original = file.read_text(encoding="utf-8")
        if not test.exists():
            print(f"{file.stem}: has no pgTAP file", flush=True)
            untested.append(file.stem)
            continue
        if not _passes(conn, test):
            print(f"{file.stem}: its pgTAP file fails even on the unbroken function", flush=True)
            untested.append(file.stem)
            continue
        survivors = []
        for mutant in mutants(original):
            noticed = _noticed(conn, mutant, test)
            if noticed is None:
                continue
            tried += 1
            killed += noticed
            if not noticed:
                survivors.append(mutant)
                if mutant.emptied:
                    untested.append(file.stem)
        conn.execute(original.encode())
        for mutant in survivors:
            print(f"{file.relative_to(_ROOT)}:{mutant.line}: {mutant.what} goes unnoticed", flush=True)
    print(f"{killed} of {tried} changes were noticed in {len(files)} functions")
    if untested:
        print(f"without a test that counts: {', '.join(untested)}")
    return 1 if untested else 0


def _noticed(conn: psycopg.Connection[Any], mutant: Mutant, test: Path) -> bool | None:
    """Whether the test fails on the mutant; None when PostgreSQL itself refuses the change."""
    try:
        conn.execute(mutant.text.encode())
    except psycopg.Error:
        conn.execute("rollback")
        return None
    return not _passes(conn, test)


def _passes(conn: psycopg.Connection[Any], test: Path) -> bool:
    try:
        return not run_script(conn, read_script(test), test).problems
    finally:
        conn.execute("rollback")


def mutants(text: str) -> Iterator[Mutant]:
    """The emptied function, then every single change; comments and literals are left alone."""
    match = _BODY.search(text)
    if match is None:
        return
    start, body = match.start(2), match.group(2)
    head = text[: match.start()].lower()
    yield _replace(text, start, body, _emptied(head, body), "an emptied body", emptied=True)
    for position, token in code_tokens(body):
        other = _SWAPS.get(token.lower())
        if other is not None:
            yield _replace(text, start + position, token, other, f"{token} → {other}")
    for found in re.finditer(r"\braise exception\b[^;]*;", body):
        yield _replace(text, start + found.start(), found.group(), "null;", "no refusal")
    for pattern in _DROPPED:
        for found in re.finditer(pattern, body, re.MULTILINE):
            yield _replace(text, start + found.start(), found.group(), "", f"without «{found.group().strip()}»")
    for old, new in (("is not null", "is null"), ("is null", "is not null"), ("not ", "")):
        for found in re.finditer(rf"(?<!is )(?<!if )\b{old}", _blank_literals(body)):
            yield _replace(text, start + found.start(), found.group(), new, f"{old} → {new}")
    for found in re.finditer(r"\bfor (?:no key )?update(?: of \w+)?(?: skip locked)?", body):
        yield _replace(text, start + found.start(), found.group(), "", f"no {found.group()}")


def _blank_literals(body: str) -> str:
    return re.sub(r"'(?:[^']|'')*'|--[^\n]*", lambda found: " " * len(found.group()), body)


def _replace(text: str, position: int, old: str, new: str, what: str, *, emptied: bool = False) -> Mutant:
    line = text.count("\n", 0, position) + 1
    return Mutant(line, what, text[:position] + new + text[position + len(old) :], emptied)


def _emptied(head: str, body: str) -> str:
    if "language plpgsql" in head:
        rows = re.search(r"returns\s+(?:table|setof|void)\b", head)
        return "\nbegin\n    return;\nend\n" if rows else "\nbegin\n    return null;\nend\n"
    statement = body.strip().rstrip(";")
    if re.search(r"returns\s+(?:table|setof)\b", head):
        return f"\nselect * from (\n{statement}\n) as emptied limit 0\n"
    kind = re.search(r"returns\s+([a-z_.\[\] ]+?)\s*\n", head)
    return f"\nselect null::{kind.group(1) if kind else 'text'}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
