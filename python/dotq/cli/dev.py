"""`dotq dev`: a PostgreSQL for development, without installing one."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType

import click

from dotq._server import DevServer, DevStatus, ServerError, find_psql
from dotq.cli._common import EXIT_CONNECT, EXIT_REFUSED, EXIT_USAGE, App, fail, pass_app
from dotq.cli._options import Group, PassingOn, examples, option


@contextmanager
def _errors(code: int = 1) -> Iterator[None]:
    """Turn the server's refusals into one line and an exit code; let SIGTERM clean up as Ctrl-C does."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    except ServerError as error:
        fail(str(error), code=code, hint=error.hint)
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(app: App, status: DevStatus) -> None:
    if app.output == "json":
        click.echo(json.dumps(asdict(status)))
        return
    if not status.running:
        click.echo("The dev server is not running.")
        return
    click.echo(f"PostgreSQL {status.version} is running (process {status.pid}).")
    click.echo(f"  url   {status.url}")
    if status.tcp_url:
        click.echo(f"  tcp   {status.tcp_url}")
    click.echo("  psql  dotq dev psql")
    click.echo(f"  data  {status.data}")
    click.echo(f"  log   {status.log}")


def _running() -> DevStatus:
    with _errors():
        status = DevServer().status()
    if not status.running:
        fail("the dev server is not running", code=EXIT_CONNECT, hint="run `dotq dev up`")
    return status


@click.group(cls=Group, epilog=examples("dotq dev up"))
def dev() -> None:
    """Run an embedded PostgreSQL for development."""


@dev.command(epilog=examples("dotq dev up --pg 16"))
@option("--pg", type=click.Choice(["16", "18"]), help="Major version; default: the last one used, or 18.")
@option("--port", type=click.IntRange(1, 65535), help="Also listen on 127.0.0.1, with a password.")
@pass_app
def up(app: App, pg: str | None, port: int | None) -> None:
    """Start the server, or find it running."""
    with _errors(EXIT_REFUSED):
        status = DevServer().up(pg=pg, port=port)
    _show(app, status)


@dev.command(epilog=examples("dotq dev down"))
@pass_app
def down(app: App) -> None:
    """Stop the server; its data stays."""
    with _errors():
        stopped = DevServer().down()
    if app.output == "json":
        click.echo(json.dumps({"stopped": stopped}))
    else:
        click.echo("The dev server has stopped." if stopped else "The dev server was not running.")


@dev.command(epilog=examples("dotq dev status --json"))
@pass_app
def status(app: App) -> None:
    """Say whether the server runs, and where; exits 3 when it does not."""
    with _errors():
        found = DevServer().status()
    _show(app, found)
    if not found.running:
        sys.exit(EXIT_CONNECT)


@dev.command(epilog=examples('psql "$(dotq dev url)"'))
def url() -> None:
    """Print the connection string, and nothing else."""
    click.echo(_running().url)


@dev.command(
    cls=PassingOn,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog=examples("dotq dev psql -c 'select version()'"),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(arguments: tuple[str, ...]) -> None:
    """Open psql on the server; arguments are passed on."""
    found = _running()
    with _errors():
        program = find_psql(DevServer().installation())
    if program is None:
        fail("no psql, neither beside the server nor on PATH", hint="connect another client to `dotq dev url`")
    os.execv(program, [program, f"--dbname={found.url}", *arguments])


@dev.command(epilog=examples("dotq dev reset --yes"))
@option("--yes", is_flag=True, help="Do not ask.")
@pass_app
def reset(app: App, yes: bool) -> None:
    """Stop the server and delete its data."""
    with _errors():
        data = DevServer().status().data
    if data is not None and not yes:
        if not sys.stdin.isatty():
            fail(f"this would delete {data}", code=EXIT_USAGE, hint="say --yes")
        click.confirm(f"Delete {data}?", abort=True, err=True)
    with _errors():
        deleted = DevServer().reset()
    if app.output == "json":
        click.echo(json.dumps({"deleted": deleted}))
    else:
        click.echo(f"Deleted {data}." if deleted else "There was no data to delete.")
