"""`dotq gate` and `dotq config`: what the queue may do, and how."""

from __future__ import annotations

import click

from dotq._rows import Setting, SettingAudit, SettingChange
from dotq.cli._common import EXIT_NOT_FOUND, App, fail, pass_app
from dotq.cli._options import Group, examples, option
from dotq.cli._output import cell, names, out, show_one, show_rows
from dotq.cli._text import Column, relative


@click.group(cls=Group, epilog=examples("dotq gate list"))
def gate() -> None:
    """Open and close the gates that let work through."""


@gate.command(name="list", epilog=examples("dotq gate list"))
@pass_app
def gate_list(app: App) -> None:
    """List the gates."""
    with app.client() as client:
        rows = client.config(is_gate=True)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("gate"), lambda row: _short(row.key)),
            (Column("state"), lambda row: "open" if row.effective == "true" else "closed"),
            (Column("changed", right=True), lambda row: relative(row.updated_at, now)),
            (Column("by", narrow=10), lambda row: row.updated_by),
            (Column("what it lets through", narrow=12, optional=True), lambda row: row.description),
        ],
        none="no gates",
        header=names(Setting),
    )


def _short(key: str) -> str:
    return key.removeprefix("queue.").removesuffix(".enabled")


@gate.command(name="open", epilog=examples("dotq gate open job_substrate heartbeat worker"))
@click.argument("gates", metavar="GATE...", nargs=-1, required=True)
@pass_app
def gate_open(app: App, gates: tuple[str, ...]) -> None:
    """Open gates, by key or by its middle word (see `dotq gate list`): all of them, or none.

    job_substrate is the master gate: while it is closed, nothing moves.
    """
    _turn(app, gates, "true")


@gate.command(name="close", epilog=examples("dotq gate close claim      (drain: nothing new is handed out)"))
@click.argument("gates", metavar="GATE...", nargs=-1, required=True)
@pass_app
def gate_close(app: App, gates: tuple[str, ...]) -> None:
    """Close gates, by key or by its middle word (see `dotq gate list`): all of them, or none."""
    _turn(app, gates, "false")


def _turn(app: App, gates: tuple[str, ...], value: str) -> None:
    with app.client() as client:
        known = {row.key: row.key for row in client.config(is_gate=True)}
        known.update({_short(key): key for key in known})
        for word in gates:
            if word not in known:
                listed = ", ".join(sorted(name for name in known if "." not in name))
                fail(f"there is no gate {word!r}", code=EXIT_NOT_FOUND, hint=f"the gates are {listed}")
        changes = [client.config_set(known[word], value, app.actor) for word in gates]
    _show_changes(app, changes)


def _show_changes(app: App, changes: list[SettingChange]) -> None:
    show_rows(
        app,
        changes,
        [
            (Column("key"), lambda row: row.key),
            (Column("old_value"), lambda row: row.old_value),
            (Column("value"), lambda row: row.value),
        ],
        none="",
        header=names(SettingChange),
    )


@click.group(cls=Group, epilog=examples("dotq config list"))
def config() -> None:
    """Read and change settings; every change is written down."""


@config.command(name="list", epilog=examples("dotq config list --json"))
@pass_app
def config_list(app: App) -> None:
    """List all settings with the value that counts."""
    with app.client() as client:
        rows = client.config()
    show_rows(
        app,
        rows,
        [
            (Column("key"), lambda row: row.key),
            (Column("value"), lambda row: row.effective),
            (Column("", narrow=6), lambda row: "" if row.readable else f"unreadable: {row.value!r}"),
            (Column("allowed", narrow=8, optional=True), lambda row: row.allowed),
            (Column("by", narrow=8, optional=True), lambda row: row.updated_by),
            (Column("description", narrow=12, optional=True), lambda row: row.description),
        ],
        none="no settings",
        header=names(Setting),
    )


@config.command(name="get", epilog=examples("dotq config get queue.lease.duration_sec"))
@click.argument("key")
@pass_app
def config_get(app: App, key: str) -> None:
    """Print the value of one setting that counts now."""
    with app.client() as client:
        rows = client.config(key=key)
    if not rows:
        fail(f"there is no setting {key!r}", code=EXIT_NOT_FOUND, hint="`dotq config list` lists them")
    if app.output == "table":
        out(cell(rows[0].effective))
    else:
        show_one(app, rows[0])


@config.command(name="set", epilog=examples("dotq config set queue.lease.duration_sec 600"))
@click.argument("key")
@click.argument("value")
@pass_app
def config_set(app: App, key: str, value: str) -> None:
    """Change one setting."""
    with app.client() as client:
        change = client.config_set(key, value, app.actor)
    show_one(app, change)


@config.command(name="audit", epilog=examples("dotq config audit --key queue.claim.enabled"))
@option("--key", metavar="KEY", help="Only this setting; a kind is kind:<name>.")
@option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True, help="At most this many.")
@pass_app
def config_audit(app: App, *, key: str | None, limit: int) -> None:
    """Show who changed which gate, setting or kind, newest first."""
    with app.client() as client:
        rows = client.config_audit(key=key, limit=limit)
        now = client.server_time()
    show_rows(
        app,
        rows,
        [
            (Column("when", right=True), lambda row: relative(row.changed_at, now)),
            (Column("by", narrow=10), lambda row: row.changed_by),
            (Column("key", narrow=12), lambda row: row.key),
            (Column("old", narrow=5), lambda row: _brief(row.old_value)),
            (Column("new", narrow=5), lambda row: _brief(row.new_value)),
        ],
        none="no changes",
        header=names(SettingAudit),
    )


def _brief(value: str | None) -> str:
    """The whole policy of a kind is too long for a table; the other formats have all of it."""
    text = value or ""
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


_BRIEF = 60
