"""What a worker does, for workers written in a shell: from claim to ack; and cancel."""

from __future__ import annotations

import os
import secrets
import shlex
import socket
from uuid import UUID

import click

from dotq._rows import Cancelled, Job, Json
from dotq.cli._bulk import Bulk
from dotq.cli._common import App, pass_app
from dotq.cli._options import Command, Id, JsonText, examples, option, sure
from dotq.cli._output import names, show_one, show_rows
from dotq.cli._text import Column

_CALLED = "01998d2e-5c1a-7f00-8000-3c5e1f0a9b11 --lease host-12-ab12cd#7"
_lease = option("--lease", required=True, metavar="HANDLE", help="The lease handle that claim printed.")


@click.command(
    cls=Command,
    epilog=examples(
        "dotq claim --kind report --lease 600",
        "dotq claim --limit 10 --format jsonl",
    ),
)
@option("--worker", metavar="ID", help="Who claims.  [default: host-process-random]")
@option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@option(
    "--affinity",
    "affinities",
    multiple=True,
    metavar="KEY",
    help="Also jobs bound to this key; may be repeated.",
)
@option("--limit", type=int, metavar="N", help="Claim up to N jobs and print a list.")
@option("--lease", "lease_seconds", type=int, metavar="SECONDS", help="How long the lease runs.")
@pass_app
def claim(
    app: App,
    *,
    worker: str | None,
    kinds: tuple[str, ...],
    affinities: tuple[str, ...],
    limit: int | None,
    lease_seconds: int | None,
) -> None:
    """Lease the most urgent job that is due, and print it with its lease handle.

    With nothing to claim it prints null (with --limit: nothing), says why on stderr, and leaves with code 0.
    """
    worker_id = worker or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    allowed = list(kinds) or None
    jobs: list[Job] = []
    reason: str | None = None
    with app.client() as client:
        if limit is not None or affinities:
            jobs = client.job_claim_many(
                worker_id,
                1 if limit is None else limit,
                lease_seconds=lease_seconds,
                allowed_kinds=allowed,
                affinity_keys=list(affinities) or None,
            )
        if not jobs:
            # Asked once more for one job, because only that function says why there is none.
            found = client.job_claim(worker_id, lease_seconds=lease_seconds, allowed_kinds=allowed)
            jobs, reason = [found.job] if found.job else [], found.reason
    if limit is not None:
        show_rows(app, jobs, _CLAIMED, none=f"no job: {reason}", header=names(Job))
    elif jobs:
        show_one(app, jobs[0])
    else:
        if app.output in ("json", "jsonl"):
            show_one(app, None)
        app.note(f"no job: {reason}")
    if jobs and app.output == "table":
        handle = shlex.quote(jobs[0].lease)
        app.note(f"finish it with: dotq ack {jobs[0].job_id} --lease {handle}")


_CLAIMED = [
    (Column("job_id"), lambda job: job.job_id),
    (Column("kind", narrow=8), lambda job: job.job_kind),
    (Column("tries"), lambda job: f"{job.attempts}/{job.max_attempts}"),
    (Column("lease"), lambda job: job.lease),
    (Column("payload", narrow=10, optional=True), lambda job: job.payload_json),
]


@click.command(cls=Command, epilog=examples(f"dotq start {_CALLED}"))
@click.argument("job_id", metavar="ID", type=Id())
@_lease
@pass_app
def start(app: App, job_id: UUID, *, lease: str) -> None:
    """Mark a claimed job as being worked on. Optional: the first heartbeat does it too."""
    with app.client() as client:
        answer = client.job_start(job_id, lease)
    show_one(app, answer)
    _warn(app, cancel=answer.cancel_requested)


@click.command(
    cls=Command,
    epilog=examples(f"dotq heartbeat {_CALLED} --progress '{{\"percent\": 40}}'"),
)
@click.argument("job_id", metavar="ID", type=Id())
@_lease
@option("--lease-seconds", type=int, metavar="SECONDS", help="How long the lease runs from now.")
@option("--progress", type=JsonText(), help="What to show of the work: JSON, @file or -.")
@option("--checkpoint", type=JsonText(), help="Where the next attempt may go on: JSON, @file or -.")
@pass_app
def heartbeat(
    app: App,
    job_id: UUID,
    *,
    lease: str,
    lease_seconds: int | None,
    progress: Json | None,
    checkpoint: Json | None,
) -> None:
    """Renew a lease, store progress and checkpoint, and learn whether to stop."""
    with app.client() as client:
        answer = client.job_heartbeat(
            job_id, lease, lease_seconds=lease_seconds, progress=progress, checkpoint=checkpoint
        )
    show_one(app, answer)
    _warn(app, cancel=answer.cancel_requested, drain=answer.drain)


def _warn(app: App, *, cancel: bool, drain: bool = False) -> None:
    if cancel:
        app.note("stop: this job was asked to cancel")
    elif drain:
        app.note("take no more jobs: the queue is draining")


@click.command(
    cls=Command,
    epilog=examples(f"dotq ack {_CALLED} --result '{{\"rows\": 120}}'"),
)
@click.argument("job_id", metavar="ID", type=Id())
@_lease
@option("--result", type=JsonText(), help="What came of it: JSON, @file or -.")
@pass_app
def ack(app: App, job_id: UUID, *, lease: str, result: Json | None) -> None:
    """Finish a claimed job as succeeded. Repeating it with the same handle is harmless."""
    with app.client() as client:
        answer = client.job_ack(job_id, lease, result=result)
    show_one(app, answer, ids="job_id")


@click.command(
    name="fail",
    cls=Command,
    epilog=examples(f"dotq fail {_CALLED} --error 'HTTP 503'"),
)
@click.argument("job_id", metavar="ID", type=Id())
@_lease
@option("--error", required=True, metavar="TEXT", help="What went wrong.")
@option("--no-retry", is_flag=True, help="Trying again would not help: end the job as failed.")
@pass_app
def fail_job(app: App, job_id: UUID, *, lease: str, error: str, no_retry: bool) -> None:
    """Report a failed attempt; the queue decides whether it is retried or becomes a dead letter."""
    with app.client() as client:
        answer = client.job_fail_or_retry(job_id, lease, error, retryable=False if no_retry else None)
    show_one(app, answer)


@click.command(cls=Command, epilog=examples(f"dotq release {_CALLED}"))
@click.argument("job_id", metavar="ID", type=Id())
@_lease
@pass_app
def release(app: App, job_id: UUID, *, lease: str) -> None:
    """Hand a claimed job back; the attempt does not count."""
    with app.client() as client:
        answer = client.job_release(job_id, lease)
    show_one(app, answer)


@click.command(
    cls=Command,
    epilog=examples(
        "dotq cancel 01998d2e-5c1a-7f00-8000-3c5e1f0a9b11 --reason 'sent twice'",
        "dotq job list --kind report --state queued -q | xargs dotq cancel --yes",
    ),
)
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True, type=Id())
@option("--reason", metavar="TEXT", help="Why, for the record.")
@option("--yes", is_flag=True, help="Do not ask; needed for more than one job when nobody can be asked.")
@pass_app
def cancel(app: App, job_ids: tuple[UUID, ...], *, reason: str | None, yes: bool) -> None:
    """Cancel jobs: waiting ones at once, running ones through their heartbeat.

    Each job is its own transaction. Leaves with code 7 when some were cancelled and some were not.
    """
    if len(job_ids) > 1:
        sure(f"cancel {len(job_ids)} jobs", yes=yes)
    bulk = Bulk(app, job_ids, lambda client, chosen: client.job_cancel(chosen, app.actor, reason=reason))
    show_rows(
        app,
        bulk.done,
        [
            (Column("job_id"), lambda row: row.job_id),
            (Column("state"), lambda row: row.state),
            (Column("cancel_requested"), lambda row: row.cancel_requested),
            (Column("forced_at", narrow=10, optional=True), lambda row: row.forced_at),
        ],
        none="",
        header=names(Cancelled),
        ids="job_id",
    )
    bulk.leave("cancelled")
