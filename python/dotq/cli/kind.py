"""`dotq kind`: the policies of the kinds of job."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from dotq._rows import Json, Kind
from dotq.cli._common import App, pass_app
from dotq.cli._json import assigned
from dotq.cli._options import Group, JsonText, Moment, Span, examples, option
from dotq.cli._output import names, show_one, show_rows
from dotq.cli._text import Column, relative


@click.group(cls=Group, epilog=examples("dotq kind list"))
def kind() -> None:
    """Kinds of job: their policies, pause and resume."""


@kind.command(name="list", epilog=examples("dotq kind list"))
@pass_app
def list_(app: App) -> None:
    """List the kinds with the policies that count."""
    with app.client() as client:
        rows = client.kinds()
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("kind", narrow=10), lambda row: row.job_kind),
            (Column("status"), lambda row: row.status),
            (Column("prio", right=True), lambda row: row.default_priority),
            (Column("tries", right=True), lambda row: row.max_attempts),
            (Column("lease", right=True), lambda row: f"{row.lease_seconds}s"),
            (Column("backoff"), lambda row: row.backoff_strategy),
            (Column("on_crash", optional=True), lambda row: row.on_crash),
            (Column("until", optional=True), lambda row: relative(row.paused_until, now)),
            (Column("reason", narrow=8, optional=True), lambda row: row.pause_reason),
        ],
        none="no kinds",
        header=names(Kind),
    )


@kind.command(epilog=examples("dotq kind show report --json"))
@click.argument("name", metavar="KIND")
@pass_app
def show(app: App, name: str) -> None:
    """Show the whole policy of one kind, with its payload schema."""
    with app.client() as client:
        policy = client.kind_get(name)
    show_one(app, policy)


@kind.command(
    name="set",
    epilog=examples(
        "dotq kind set report -P max_attempts:=3 -P backoff_strategy=fixed",
        "dotq kind set report -P payload_schema:=null      (null: back to the default)",
        "dotq kind set report @policy.json",
    ),
)
@click.argument("name", metavar="KIND")
@click.argument("policy", metavar="[POLICY]", required=False, type=JsonText())
@option("-P", "--param", "params", multiple=True, metavar="K=V", help="One policy: name=text or name:=json.")
@pass_app
def set_(app: App, name: str, policy: Json | None, *, params: tuple[str, ...]) -> None:
    """Register KIND, or change the policies that are named; the others stay.

    POLICY is a JSON object, @file or - for standard input.
    """
    given = assigned(policy, params)
    if given is None:
        raise click.UsageError("which policies? Give a JSON object, or -P name=value")
    with app.client() as client:
        changed = client.kind_set(name, given.value, app.actor)
    show_one(app, changed)


@kind.command(epilog=examples("dotq kind pause report --for 30m --reason 'upstream is down'"))
@click.argument("name", metavar="KIND")
@option("--until", type=Moment(), help="Resume by itself at this time, ISO 8601 with zone.")
@option("--for", "length", type=Span(), help="Resume by itself after this long: 45s, 5m, 2h, 1d.")
@option("--reason", metavar="TEXT", help="Why, for whoever wonders.")
@pass_app
def pause(app: App, name: str, *, until: datetime | None, length: timedelta | None, reason: str | None) -> None:
    """Hand out no more jobs of KIND; what runs goes on, new jobs are accepted."""
    if until is not None and length is not None:
        raise click.UsageError("--until and --for exclude each other")
    with app.client() as client:
        end = until if length is None else client.server_time(length)
        answer = client.kind_pause(name, app.actor, reason=reason, until=end)
    show_one(app, answer)


@kind.command(epilog=examples("dotq kind resume report"))
@click.argument("name", metavar="KIND")
@pass_app
def resume(app: App, name: str) -> None:
    """Hand out jobs of KIND again."""
    with app.client() as client:
        answer = client.kind_resume(name, app.actor)
    show_one(app, answer)
