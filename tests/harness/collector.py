"""Every tests/pgtap/*.sql file is a test: its TAP output decides, and shows, what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from tap.line import Bail, Diagnostic, Plan, Result
from tap.parser import Parser

from harness.databases import Harness, HarnessError
from harness.statements import Statement, read_script

SEARCH_PATH = "dotq, tap, public"


class TapFailure(Exception):
    """What a pgTAP file has to say for itself."""


@dataclass
class TapReport:
    """The verdict on one file."""

    passed: int = 0
    problems: list[str] = field(default_factory=list)


class PgTapFile(pytest.File):
    """One SQL file; one item."""

    def collect(self) -> Iterable[PgTapItem]:
        yield PgTapItem.from_parent(self, name=self.path.stem)


class PgTapItem(pytest.Item):
    """Runs a file and reads its TAP."""

    harness: Callable[[pytest.Config], Harness]
    assertions = 0

    def runtest(self) -> None:
        script = read_script(self.path)
        database = type(self).harness(self.config).pgtap_database
        with psycopg.connect(database.dsn, autocommit=True) as conn:
            conn.execute(f"set search_path = {SEARCH_PATH}")
            report = run_script(conn, script, self.path)
        self.assertions = report.passed
        if report.problems:
            raise TapFailure("\n".join(report.problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, TapFailure | HarnessError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def run_script(conn: psycopg.Connection[Any], script: list[Statement], path: Path) -> TapReport:
    """Send each statement by itself, so that an error names its line and keeps the output so far."""
    words = [" ".join(statement.text.lower().split()) for statement in script]
    if not words or not words[0].startswith("begin") or words[-1] != "rollback" or "commit" in words:
        return TapReport(problems=[f"{path.name}: must start with begin, end with rollback, and never commit"])
    lines: list[str] = []
    error: str | None = None
    for statement in script:
        try:
            cursor = conn.execute(statement.text.encode())
        except psycopg.Error as problem:
            error = _describe(problem, statement, path)
            break
        if cursor.description is not None and len(cursor.description) == 1:
            lines += [str(value) for (value,) in cursor.fetchall() if value is not None]
    report = judge("\n".join(lines))
    if error is not None:
        report.problems.insert(0, error)
    elif conn.info.transaction_status != TransactionStatus.IDLE:
        report.problems.append(f"{path.name}: leaves its transaction open")
    return report


def judge(output: str) -> TapReport:
    """Compare the plan with the results; collect every failed assertion with its diagnostics."""
    report = TapReport()
    planned: int | None = None
    count = 0
    failed = False
    for line in Parser().parse_text(output):
        if isinstance(line, Plan):
            planned = line.expected_tests
            failed = False
        elif isinstance(line, Bail):
            report.problems.append(str(line))
        elif isinstance(line, Result):
            count += 1
            failed = not line.ok and not line.todo
            report.passed += not failed
            if failed:
                report.problems.append(str(line))
        elif isinstance(line, Diagnostic) and (failed or line.text.startswith("# Looks like")):
            report.problems.append(line.text)
    if count == 0:
        report.problems.append("no test ran")
    if planned is None:
        report.problems.append("there is no plan")
    elif planned != count:
        report.problems.append(f"planned {planned} tests, ran {count}")
    return report


def _describe(problem: psycopg.Error, statement: Statement, path: Path) -> str:
    diagnostics = problem.diag
    line = statement.line
    if diagnostics.statement_position and diagnostics.statement_position.isdigit():
        line += statement.text[: int(diagnostics.statement_position) - 1].count("\n")
    text = f"{path.name}:{line}: {diagnostics.message_primary or problem} [{problem.sqlstate or 'no SQLSTATE'}]"
    details = (diagnostics.message_detail, diagnostics.message_hint, diagnostics.context)
    return "\n    ".join([text, *(detail for detail in details if detail)])
