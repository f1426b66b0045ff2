"""`dotq dlq`: the dead letters."""

from __future__ import annotations

import sys
from typing import Any
from uuid import UUID

import click

from dotq._rows import DeadLetter, DeadLetterGroup, Replay, ReplayOutcome, Triage
from dotq.cli._bulk import Bulk
from dotq.cli._common import EXIT_NOT_FOUND, EXIT_PARTLY, EXIT_REFUSED, App, fail, pass_app
from dotq.cli._options import Group, Id, examples, option, sure
from dotq.cli._output import Shown, cell, names, show_one, show_rows, table
from dotq.cli._text import Column, relative

_EXAMPLE_ID = "01998d2e-9f00-7c31-8000-6b1d2a44e0c2"


@click.group(cls=Group, epilog=examples("dotq dlq groups"))
def dlq() -> None:
    """Dead letters: see them, decide about them, run them again."""


@dlq.command(epilog=examples("dotq dlq groups"))
@pass_app
def groups(app: App) -> None:
    """Show dead letters by kind and error: two thousand failures are often three errors."""
    with app.client() as client:
        rows = client.dead_letter_groups()
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("open", right=True), lambda row: row.open_count),
            (Column("all", right=True), lambda row: row.row_count),
            (Column("kind", narrow=8), lambda row: row.job_kind),
            (Column("last", right=True), lambda row: relative(row.last_moved_at, now)),
            (Column("fingerprint"), lambda row: row.error_fingerprint),
            (Column("error", narrow=12), lambda row: row.sample_error),
        ],
        none="no dead letters",
        header=names(DeadLetterGroup),
    )


@dlq.command(
    name="list",
    epilog=examples("dotq dlq list --status pending --kind report", "dotq dlq list --limit 100 --format csv"),
)
@option("--status", metavar="STATUS", help="Only this triage status, such as pending.")
@option("--kind", metavar="KIND", help="Only this kind.")
@option("--fingerprint", metavar="TEXT", help="Only this error, as `dotq dlq groups` prints it.")
@option("--cause", metavar="CAUSE", help="Only this cause.")
@option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True, help="At most this many.")
@pass_app
def list_(
    app: App, *, status: str | None, kind: str | None, fingerprint: str | None, cause: str | None, limit: int
) -> None:
    """List dead letters, newest first."""
    with app.client() as client:
        rows = client.dead_letters(status=status, kind=kind, fingerprint=fingerprint, cause=cause, limit=limit)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("dead_letter_id"), lambda row: row.dead_letter_id),
            (Column("kind", narrow=7), lambda row: row.task_type),
            (Column("status"), lambda row: row.triage_status),
            (Column("dead", right=True), lambda row: relative(row.moved_at, now).removesuffix(" ago")),
            (Column("tries", optional=True), lambda row: f"{row.attempts}/{row.max_attempts}"),
            (Column("error", narrow=8, optional=True), lambda row: row.error_message),
        ],
        none="no dead letters",
        header=names(DeadLetter),
        ids="dead_letter_id",
    )


@dlq.command(epilog=examples(f"dotq dlq show {_EXAMPLE_ID}"))
@click.argument("dead_letter_id", metavar="ID", type=Id())
@pass_app
def show(app: App, dead_letter_id: UUID) -> None:
    """Show one dead letter with its payload, error and triage."""
    with app.client() as client:
        found = client.dead_letter(dead_letter_id)
    if found is None:
        hint = "a dead letter has an id of its own; `dotq job show JOB` prints it as dead_letter_id"
        fail(f"dead letter {dead_letter_id} does not exist", code=EXIT_NOT_FOUND, hint=hint)
    show_one(app, found)


@dlq.command(
    epilog=examples(
        f"dotq dlq triage {_EXAMPLE_ID} --status acknowledged --note 'upstream was down'",
        "dotq dlq list --kind report -q | xargs dotq dlq triage --status closed --yes",
    )
)
@click.argument("dead_letter_ids", metavar="ID...", nargs=-1, required=True, type=Id())
@option(
    "--status",
    required=True,
    metavar="STATUS",
    help="pending, acknowledged, escalated, closed, manual_replay.",
)
@option("--note", metavar="TEXT", help="Why; without one the old note stays.")
@option("--yes", is_flag=True, help="Do not ask; needed for more than one when nobody can be asked.")
@pass_app
def triage(app: App, dead_letter_ids: tuple[UUID, ...], *, status: str, note: str | None, yes: bool) -> None:
    """Record what was decided about dead letters."""
    if len(dead_letter_ids) > 1:
        sure(f"set {len(dead_letter_ids)} dead letters to {status}", yes=yes)
    bulk = Bulk(
        app,
        dead_letter_ids,
        lambda client, chosen: client.dead_letter_triage(chosen, status, app.actor, note=note),
    )
    show_rows(
        app,
        bulk.done,
        [
            (Column("dead_letter_id"), lambda row: row.dead_letter_id),
            (Column("old_status"), lambda row: row.old_status),
            (Column("status"), lambda row: row.status),
        ],
        none="",
        header=names(Triage),
        ids="dead_letter_id",
    )
    bulk.leave("changed")


_REPLAYED: Shown = [
    (Column("dead_letter_id"), lambda row: row.dead_letter_id),
    (Column("outcome"), lambda row: row.outcome),
    (Column("job_id", optional=True), lambda row: row.job_id),
    (Column("kind", narrow=8), lambda row: row.job_kind),
    (Column("error", narrow=8, optional=True), lambda row: row.final_error),
]


@dlq.command(
    epilog=examples(
        f"dotq dlq replay {_EXAMPLE_ID}",
        "dotq dlq replay --kind report --dry-run",
        "dotq dlq replay --kind report --fingerprint 3f2a --limit 500 --yes",
    )
)
@click.argument("dead_letter_ids", metavar="[ID]...", nargs=-1, type=Id())
@option("--kind", metavar="KIND", help="All open ones of this kind.")
@option("--fingerprint", metavar="TEXT", help="All open ones with this error.")
@option("--cause", metavar="CAUSE", help="All open ones with this cause.")
@option("--status", metavar="STATUS", help="All open ones in this triage status.")
@option("--all", "everything", is_flag=True, help="All open ones.")
@option("--limit", type=int, metavar="N", help="With a filter: at most N, oldest first.")
@option("--dry-run", is_flag=True, help="With a filter: show what would happen, change nothing.")
@option("--yes", is_flag=True, help="Do not ask; needed for more than one when nobody can be asked.")
@pass_app
def replay(
    app: App,
    dead_letter_ids: tuple[UUID, ...],
    *,
    kind: str | None,
    fingerprint: str | None,
    cause: str | None,
    status: str | None,
    everything: bool,
    limit: int | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Run dead letters again, each as a new job: by ID, or all that match the filters.

    Filters combine. What would happen is shown first, and then asked for, unless --yes says so already.
    Leaves with code 7 when some could not be replayed, with 5 when none could.
    """
    given = {"kind": kind, "fingerprint": fingerprint, "cause": cause, "status": status}
    chosen = {name: value for name, value in given.items() if value is not None}
    if dead_letter_ids and (chosen or everything or limit is not None or dry_run):
        raise click.UsageError("name dead letters, or choose them by filters, not both")
    if not (dead_letter_ids or chosen or everything):
        raise click.UsageError(
            "which dead letters? Name them, or use --kind, --fingerprint, --cause, --status or --all"
        )
    if dead_letter_ids:
        _replay_named(app, dead_letter_ids, yes=yes)
    else:
        _replay_filtered(app, chosen, limit=limit, dry_run=dry_run, yes=yes)


def _replay_named(app: App, dead_letter_ids: tuple[UUID, ...], *, yes: bool) -> None:
    if len(dead_letter_ids) > 1:
        sure(f"replay {len(dead_letter_ids)} dead letters", yes=yes)
    bulk = Bulk(app, dead_letter_ids, lambda client, chosen: client.dead_letter_replay(chosen, app.actor))
    show_rows(
        app,
        bulk.done,
        [
            (Column("dead_letter_id"), lambda row: row.dead_letter_id),
            (Column("job_id"), lambda row: row.job_id),
        ],
        none="",
        header=names(Replay),
        ids="job_id",
    )
    bulk.leave("replayed")


def _replay_filtered(app: App, chosen: dict[str, str], *, limit: int | None, dry_run: bool, yes: bool) -> None:
    rows: list[Any] = []
    header = names(ReplayOutcome)
    with app.session() as session:
        if not yes or dry_run:
            with session.transaction() as client:
                rows = client.dead_letter_replay_many(chosen, app.actor, limit=limit, dry_run=True)
            if dry_run or not rows:
                show_rows(
                    app,
                    rows,
                    _REPLAYED,
                    none="no open dead letters match",
                    header=header,
                    ids="dead_letter_id",
                )
                return
            able = sum(row.outcome == "would_replay" for row in rows)
            if sys.stdin.isatty():
                preview = [[cell(get(row)) for _, get in _REPLAYED] for row in rows[:_PREVIEW]]
                click.echo(table([column for column, _ in _REPLAYED], preview), err=True)
                if len(rows) > _PREVIEW:
                    click.echo(f"… and {len(rows) - _PREVIEW} more", err=True)
            sure(
                f"replay {able} of {len(rows)} dead letters",
                yes=False,
                instead="say --yes, or look with --dry-run",
            )
        with session.transaction() as client:
            rows = client.dead_letter_replay_many(chosen, app.actor, limit=limit, dry_run=False)
    show_rows(app, rows, _REPLAYED, none="no open dead letters match", header=header, ids="job_id")
    done = sum(row.outcome == "replayed" for row in rows)
    if rows:
        app.note(f"{done} replayed, {len(rows) - done} not")
    if done < len(rows):
        sys.exit(EXIT_PARTLY if done else EXIT_REFUSED)


_PREVIEW = 20
