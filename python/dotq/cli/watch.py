"""Looking after the queue: health, backlog, stuck, recent, worker, reap, fsck, errors."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import click
import psycopg

from dotq._rows import Backlog, ErrorCode, FleetWorker, QueueStatus, RecentJob, StuckJob, Violation
from dotq.cli._common import (
    EXIT_CONNECT,
    EXIT_CRITICAL,
    EXIT_ERROR,
    EXIT_NOT_FOUND,
    EXIT_WARNING,
    App,
    Session,
    complain,
    fail,
    pass_app,
)
from dotq.cli._json import record
from dotq.cli._options import Command, Group, examples, option
from dotq.cli._output import names, out, paint, show_one, show_rows, table
from dotq.cli._text import Column, clean, relative, span

_CHECK = {"ok": 0, "warning": EXIT_WARNING, "critical": EXIT_CRITICAL}
_limit = option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True, help="At most this many.")


@click.command(
    cls=Command,
    epilog=examples("dotq health", "dotq health --check -q      (for a monitor)", "dotq health --watch 2"),
)
@option("--check", is_flag=True, help="Leave with 0 when ok, 10 for a warning, 20 when critical.")
@option("--watch", type=click.FloatRange(0.1), metavar="SECONDS", help="Show it again and again.")
@option("--count", type=click.IntRange(1), metavar="N", help="With --watch: stop after N times.")
@pass_app
def health(app: App, *, check: bool, watch: float | None, count: int | None) -> None:
    """Is it healthy, and if not, why? The verdict, its reasons, the backlog and the executors."""
    if watch is None:
        if count is not None:
            raise click.UsageError("--count goes with --watch")
        with app.session() as session:
            found = _look(session)
        _show_health(app, found)
        if check:
            sys.exit(_CHECK.get(found["verdict"], EXIT_ERROR))
        return
    if check:
        raise click.UsageError("--check and --watch exclude each other")
    if app.output not in ("table", "jsonl"):
        raise click.UsageError("--watch prints a table or --format jsonl")
    for found in _again(app, watch, count):
        if app.output == "table" and sys.stdout.isatty():
            click.clear()
        _show_health(app, found)


def _look(session: Session) -> dict[str, Any]:
    """The status, with the backlog and the executors beside it, as of one moment."""
    with session.transaction() as client:
        status = client.queue_status()
        backlog = client.backlog()
        executors = [row for row in client.queue_health() if row.executor_name is not None]
    return {**record(status), "backlog": backlog, "executors": executors}


def _again(app: App, seconds: float, count: int | None) -> Iterator[dict[str, Any]]:
    """Look every so often; a database that is away for a while is a thing to show, not a reason to stop."""
    shown = 0
    while True:
        try:
            with app.session() as session:
                while True:
                    yield _look(session)
                    shown += 1
                    if shown == count:
                        return
                    time.sleep(seconds)
        except psycopg.OperationalError as error:
            problem = app.problem(error)
            if problem.code != EXIT_CONNECT:
                raise
            complain(problem.message, sqlstate=problem.sqlstate)
        time.sleep(seconds)


def _show_health(app: App, found: dict[str, Any]) -> None:
    if app.output == "csv":
        show_one(app, {name: found[name] for name in names(QueueStatus)})
        return
    if app.output != "table":
        show_one(app, found)
        return
    out(paint(found["verdict"]))
    if app.quiet:
        return
    for reason in found["reasons"]:
        out(f"  {clean(reason)}")
    oldest = found["oldest_ready_seconds"]
    age = f" (oldest {span(oldest)})" if oldest is not None else ""
    out(
        f"ready {found['ready_count']}{age}, delayed {found['delayed_count']}, "
        f"running {found['running_count']}, leases run out {found['expired_lease_count']}, "
        f"dead letters pending {found['dead_letter_pending_count']}"
    )
    if found["backlog"]:
        out("")
        out(_backlog_table(found["backlog"]))
    if found["executors"]:
        rows = [
            [
                row.executor_name,
                row.executor_kind or "",
                row.freshness or "",
                row.last_tick_status or "",
                f"{span(row.seconds_since_tick or 0)} ago",
                str(row.current_job_id or ""),
            ]
            for row in found["executors"]
        ]
        out("")
        out(table(_EXECUTORS, rows))


_EXECUTORS = [
    Column("executor", narrow=12),
    Column("kind", narrow=6),
    Column("freshness"),
    Column("status", narrow=6),
    Column("tick", right=True),
    Column("job", optional=True),
]


def _backlog_table(rows: list[Backlog]) -> str:
    return table(
        [Column("kind", narrow=12), Column("state"), Column("jobs", right=True), Column("tries", right=True)],
        [[row.job_kind, row.state, str(row.row_count), f"{row.avg_attempts:g}"] for row in rows],
    )


@click.command(cls=Command, epilog=examples("dotq backlog --kind report"))
@option("--kind", metavar="KIND", help="Only this kind.")
@option("--state", metavar="STATE", help="Only this state.")
@pass_app
def backlog(app: App, *, kind: str | None, state: str | None) -> None:
    """Count jobs by kind and state."""
    with app.client() as client:
        rows = client.backlog(kind=kind, state=state)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("kind", narrow=12), lambda row: row.job_kind),
            (Column("state"), lambda row: row.state),
            (Column("jobs", right=True), lambda row: row.row_count),
            (Column("oldest", right=True), lambda row: relative(row.oldest_created_at, now)),
            (Column("next due", right=True), lambda row: relative(row.next_scheduled_at, now)),
            (Column("tries", right=True), lambda row: f"{row.avg_attempts:g}"),
        ],
        none="no jobs",
        header=names(Backlog),
    )


@click.command(cls=Command, epilog=examples("dotq stuck", "dotq reap      (takes them back)"))
@_limit
@pass_app
def stuck(app: App, *, limit: int) -> None:
    """List jobs whose lease ran out, or whose cancellation is overdue."""
    with app.client() as client:
        rows = client.job_stuck(limit=limit)
    show_rows(
        app,
        rows,
        [
            (Column("job_id"), lambda row: row.job_id),
            (Column("kind", narrow=8), lambda row: row.job_kind),
            (Column("worker", narrow=8), lambda row: row.lease_owner),
            (
                Column("overdue", right=True),
                lambda row: span(row.overdue_seconds) if row.overdue_seconds > 0 else "",
            ),
            (Column("why", narrow=8), lambda row: row.reason),
        ],
        none="no stuck jobs",
        header=names(StuckJob),
        ids="job_id",
    )


@click.command(cls=Command, epilog=examples("dotq recent --kind report --state succeeded"))
@option("--kind", metavar="KIND", help="Only this kind.")
@option("--state", metavar="STATE", help="Only this state.")
@_limit
@pass_app
def recent(app: App, *, kind: str | None, state: str | None, limit: int) -> None:
    """List jobs that ended in the last hour, newest first."""
    with app.client() as client:
        rows = client.job_recent(kind=kind, state=state, limit=limit)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("job_id"), lambda row: row.job_id),
            (Column("kind", narrow=6), lambda row: row.job_kind),
            (Column("state"), lambda row: row.state),
            (Column("ended", right=True), lambda row: relative(row.finished_at, now)),
            (Column("waited", right=True), lambda row: _seconds(row.wait_seconds)),
            (Column("ran", right=True), lambda row: _seconds(row.run_seconds)),
        ],
        none="no jobs ended in the last hour",
        header=names(RecentJob),
        ids="job_id",
    )


def _seconds(value: float | None) -> str:
    return "" if value is None else span(value)


@click.group(cls=Group, epilog=examples("dotq worker list"))
def worker() -> None:
    """The workers."""


@worker.command(name="list", epilog=examples("dotq worker list"))
@pass_app
def worker_list(app: App) -> None:
    """List registered workers: when they were last heard of, what they hold."""
    with app.client() as client:
        rows = client.worker_fleet()
    show_rows(
        app,
        rows,
        [
            (Column("worker", narrow=16), lambda row: row.worker_id),
            (Column("status"), lambda row: row.status),
            (Column("heard", right=True), lambda row: f"{span(row.seconds_since_heartbeat)} ago"),
            (Column("leases", right=True), lambda row: f"{row.leases_held}/{row.pool_size}"),
            (Column("kinds", narrow=8), lambda row: "all" if row.kinds is None else row.kinds),
            (Column("leads", narrow=6, optional=True), lambda row: row.leads),
            (Column("version", narrow=5, optional=True), lambda row: row.version),
        ],
        none="no workers",
        header=names(FleetWorker),
    )


@click.command(cls=Command, epilog=examples("dotq reap --limit 1000"))
@option("--limit", type=int, metavar="N", help="At most N jobs.")
@pass_app
def reap(app: App, *, limit: int | None) -> None:
    """Take back leases that ran out, and end jobs whose cancellation is overdue. Safe at any time."""
    with app.client() as client:
        answer = client.queue_reap(limit=limit)
    show_one(app, answer)


@click.command(cls=Command, epilog=examples("dotq fsck && echo sound"))
@pass_app
def fsck(app: App) -> None:
    """Check every invariant of the queue; leaves with code 1 when one does not hold.

    It reads the whole queue: for when in doubt, not for a loop.
    """
    with app.client() as client:
        rows = client.queue_fsck()
    show_rows(
        app,
        rows,
        [
            (Column("subject"), lambda row: row.subject),
            (Column("invariant", narrow=20), lambda row: row.invariant),
            (Column("detail", narrow=12), lambda row: row.detail),
        ],
        none="sound",
        header=names(Violation),
    )
    if rows:
        sys.exit(EXIT_ERROR)


@click.command(cls=Command, epilog=examples("dotq errors JQ003"))
@click.argument("code", required=False)
@pass_app
def errors(app: App, code: str | None) -> None:
    """List the error codes of dotq, or explain one."""
    with app.client() as client:
        rows = client.error_codes()
    if code is not None:
        found = [row for row in rows if row.code == code.upper()]
        if not found:
            fail(f"{code!r} is not a code of dotq", code=EXIT_NOT_FOUND, hint="`dotq errors` lists them")
        show_one(app, found[0])
        return
    show_rows(
        app,
        rows,
        [
            (Column("code"), lambda row: row.code),
            (Column("name"), lambda row: row.name),
            (Column("meaning", narrow=20), lambda row: row.meaning),
        ],
        none="no codes",
        header=names(ErrorCode),
    )
