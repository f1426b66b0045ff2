"""`dotq job`: look at jobs, and move them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import click

from dotq._rows import Blocker, Event, JobSummary
from dotq.cli._common import App, pass_app
from dotq.cli._options import Group, Id, Moment, Priority, Span, examples, option
from dotq.cli._output import names, out, show_one, show_rows
from dotq.cli._text import Column, clean, relative

_UTC = timezone.utc
_EXAMPLE_ID = "01998d2e-5c1a-7f00-8000-3c5e1f0a9b11"


@click.group(cls=Group, epilog=examples("dotq job list --state queued --state retry_waiting"))
def job() -> None:
    """Look at jobs, and move them."""


@job.command(
    name="list",
    epilog=examples(
        "dotq job list --kind report --state dead_letter",
        "dotq job list --limit 100 --format jsonl",
        f"dotq job list --after {_EXAMPLE_ID}      (the next page)",
    ),
)
@option("--state", "states", multiple=True, metavar="STATE", help="Only this state; may be repeated.")
@option("--kind", metavar="KIND", help="Only this kind.")
@option("--key", metavar="KEY", help="Only this idempotency key.")
@option("--limit", type=int, metavar="N", help="At most N jobs.")
@option("--after", type=Id(), help="Only jobs older than this one: the last id of the page before.")
@pass_app
def list_(
    app: App,
    *,
    states: tuple[str, ...],
    kind: str | None,
    key: str | None,
    limit: int | None,
    after: UUID | None,
) -> None:
    """List jobs, newest first."""
    with app.client() as client:
        rows = client.job_list(states=list(states) or None, kind=kind, key=key, limit=limit, after=after)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("job_id"), lambda row: row.job_id),
            (Column("kind", narrow=8), lambda row: row.job_kind),
            (Column("state"), lambda row: row.state),
            (Column("tries"), lambda row: f"{row.attempts}/{row.max_attempts}"),
            (Column("age", right=True), lambda row: relative(row.created_at, now).removesuffix(" ago")),
            (Column("due", optional=True), lambda row: _due(row, now)),
            (Column("worker", narrow=12, optional=True), lambda row: row.lease_owner),
            (Column("error", narrow=16, optional=True), lambda row: row.last_error),
        ],
        none="no jobs",
        header=names(JobSummary),
        ids="job_id",
    )


def _due(row: JobSummary, now: datetime) -> str:
    """When a waiting job may be claimed."""
    if row.state not in ("queued", "retry_waiting"):
        return ""
    return relative(row.scheduled_at, now) if row.scheduled_at > now else "now"


@job.command(epilog=examples(f"dotq job show {_EXAMPLE_ID} --json"))
@click.argument("job_id", metavar="ID", type=Id())
@pass_app
def show(app: App, job_id: UUID) -> None:
    """Show one job with everything that is kept about it."""
    with app.client() as client:
        found = client.job_get(job_id)
    show_one(app, found)


@job.command(epilog=examples(f"dotq job explain {_EXAMPLE_ID}"))
@click.argument("job_id", metavar="ID", type=Id())
@pass_app
def explain(app: App, job_id: UUID) -> None:
    """Say why a job is not running: each blocker in order, and the statement that lifts it."""
    with app.client() as client:
        rows = client.job_explain(job_id)
    if app.output != "table" or not rows:
        show_rows(app, rows, [], none="nothing holds it back", header=names(Blocker))
        return
    for row in rows:
        out(f"{row.place}. {click.style(clean(row.blocker), bold=True)}: {clean(row.detail)}")
        if row.remedy:
            out(f"   {clean(row.remedy)}")


@job.command(epilog=examples(f"dotq job timeline {_EXAMPLE_ID}"))
@click.argument("job_id", metavar="ID", type=Id())
@pass_app
def timeline(app: App, job_id: UUID) -> None:
    """Show what is known of a job's life, in order of time (UTC)."""
    with app.client() as client:
        rows = client.job_timeline(job_id)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("at"), lambda row: row.at.astimezone(_UTC).strftime("%Y-%m-%d %H:%M:%S")),
            (Column("", optional=True), lambda row: relative(row.at, now)),
            (Column("event", narrow=8), lambda row: row.event),
            (Column("by", narrow=8), lambda row: row.actor),
            (Column("detail", narrow=8), lambda row: row.detail),
        ],
        none="nothing is known",
        header=names(Event),
    )


@job.command(
    epilog=examples(
        f"dotq job reschedule {_EXAMPLE_ID}                 (now)",
        f"dotq job reschedule {_EXAMPLE_ID} --in 2h --priority low",
    )
)
@click.argument("job_id", metavar="ID", type=Id())
@option("--at", type=Moment(), help="Not before this time, ISO 8601 with zone.")
@option(
    "--in",
    "delay",
    type=Span(),
    help="Not before this long from now, by the server's clock: 45s, 5m, 2h, 1d.",
)
@option("--priority", type=Priority(), help="A number, lowest first, or critical, high, normal, low.")
@pass_app
def reschedule(
    app: App, job_id: UUID, *, at: datetime | None, delay: timedelta | None, priority: int | str | None
) -> None:
    """Move a waiting job to another time, another priority, or both; without any of them, it is due now."""
    if at is not None and delay is not None:
        raise click.UsageError("--at and --in exclude each other")
    with app.client() as client:
        answer = client.job_reschedule(
            job_id,
            app.actor,
            scheduled_at=at if delay is None else client.server_time(delay),
            priority=priority,
        )
    show_one(app, answer)


@job.command(epilog=examples(f"dotq job bury {_EXAMPLE_ID} --error 'the customer has gone'"))
@click.argument("job_id", metavar="ID", type=Id())
@option("--error", required=True, metavar="TEXT", help="Why it cannot be done.")
@pass_app
def bury(app: App, job_id: UUID, *, error: str) -> None:
    """Take a job out of the queue, whoever holds it, and make it a dead letter."""
    with app.client() as client:
        answer = client.job_move_to_dead_letter(job_id, error, app.actor)
    show_one(app, answer)
