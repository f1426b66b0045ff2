"""`dotq enqueue`: one job from the command line."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import click

from dotq._rows import Json
from dotq.cli._common import EXIT_REFUSED, App, fail, pass_app
from dotq.cli._json import assigned
from dotq.cli._options import Command, Id, JsonText, Moment, Priority, Span, examples, option
from dotq.cli._output import show_one


@click.command(
    cls=Command,
    epilog=examples(
        'dotq enqueue report \'{"month": "2026-10"}\' --key report-2026-10',
        "dotq enqueue sync -P source=crm -P full:=true --in 5m --priority high",
        "dotq enqueue import @payload.json      (or - for standard input)",
    ),
)
@click.argument("kind")
@click.argument("payload", required=False, type=JsonText())
@option(
    "-P",
    "--param",
    "params",
    multiple=True,
    metavar="K=V",
    help="Add name=text or name:=json to the payload.",
)
@option("--key", metavar="KEY", help="Idempotency key: with one that an active job has, that job is returned.")
@option("--at", type=Moment(), help="Not before this time, ISO 8601 with zone.")
@option(
    "--in",
    "delay",
    type=Span(),
    help="Not before this long from now, by the server's clock: 45s, 5m, 2h, 1d.",
)
@option("--priority", type=Priority(), help="A number, lowest first, or critical, high, normal, low.")
@option("--max-attempts", type=int, metavar="N", help="How often the job may be started.")
@option("--source-ref", metavar="TEXT", help="Where the work comes from.")
@option("--target-ref", metavar="TEXT", help="What the work is about.")
@option(
    "--payload-ref",
    metavar="TEXT",
    help="Where a payload is kept that is too big or too secret for the queue.",
)
@option("--run-id", type=Id(), help="The run that this job belongs to.")
@option(
    "--on-conflict",
    type=click.Choice(["return", "fail"]),
    default="return",
    show_default=True,
    help="When an active job has the key: print that job, or leave with code 5.",
)
@pass_app
def enqueue(
    app: App,
    kind: str,
    payload: Json | None,
    *,
    params: tuple[str, ...],
    key: str | None,
    at: datetime | None,
    delay: timedelta | None,
    priority: int | str | None,
    max_attempts: int | None,
    source_ref: str | None,
    target_ref: str | None,
    payload_ref: str | None,
    run_id: UUID | None,
    on_conflict: str,
) -> None:
    """Add a job of KIND; PAYLOAD is JSON, @file or - for standard input.

    Prints the job's id and state. A duplicate is a success: it is the job that is already there.
    """
    if at is not None and delay is not None:
        raise click.UsageError("--at and --in exclude each other")
    with app.client() as client:
        job = client.job_enqueue(
            kind,
            app.actor,
            idempotency_key=key,
            payload_json=assigned(payload, params),
            source_ref=source_ref,
            target_ref=target_ref,
            payload_ref=payload_ref,
            priority=priority,
            scheduled_at=at if delay is None else client.server_time(delay),
            max_attempts=max_attempts,
            run_id=run_id,
        )
    if job.duplicate and on_conflict == "fail":
        fail(
            f"job {job.job_id} has the key {key!r} and is {job.state}",
            code=EXIT_REFUSED,
            hint="nothing was added",
        )
    show_one(app, job, ids="job_id")
    if job.duplicate:
        app.note("an earlier job has this key; nothing was added")
