"""`dotq demo`: the tour."""

from __future__ import annotations

import os
import shutil
import sys
import time

import click
import psycopg
from rich.console import Console

from dotq._demo import SCHEMA, Demo, DemoFailed
from dotq._server import DevServer, ServerError
from dotq.cli._common import EXIT_CONNECT, App, fail, pass_app
from dotq.cli._options import Command, examples


@click.command(cls=Command, epilog=examples("dotq demo"))
@pass_app
def demo(app: App) -> None:
    """Play a story on a real queue: enqueue, claim, retry, crash, dead letter, replay, health.

    Uses --dsn or DATABASE_URL when given, else starts the dev server. Everything happens in the schema
    dotq_demo, which is made anew each time; nothing else in the database is touched.
    """
    started = time.monotonic()
    console = Console(file=sys.stdout, highlight=False)
    given = app.dsn or os.environ.get("DOTQ_DATABASE_URL") or os.environ.get("DATABASE_URL")
    try:
        url = given or DevServer().up().url
    except ServerError as error:
        fail(str(error), code=EXIT_CONNECT, hint=error.hint)
    app.dsn = url
    with app.connect() as connection:
        version = connection.info.parameter_status("server_version")
        where = "the given database" if given else "the embedded dev server"
        console.print(f"PostgreSQL {version} ({where}).")
        try:
            Demo(connection, console).play()
        except (DemoFailed, psycopg.Error) as error:
            fail(f"the demo failed: {str(error).strip()}")
    console.print(f"\nThat was the whole story, in {time.monotonic() - started:.1f} s. What to try next:", style="bold")
    for line in _next_steps(embedded=not given):
        console.print(f"   {line}", soft_wrap=True)


def _next_steps(*, embedded: bool) -> list[str]:
    """Lines to paste, with the name under which this very command can be called."""
    name = "dotq" if shutil.which("dotq") else os.path.relpath(sys.argv[0])
    psql = f"{name} dev psql" if embedded else f"{name} psql"
    steps = [
        f'{psql} -- -x -c "table {SCHEMA}.v_queue_status"',
        f'{psql} -- -c "table {SCHEMA}.v_catalog"',
        f"{name} --schema {SCHEMA} job list",
        f"{name} --schema {SCHEMA} health",
        f"{name} --dsn postgresql://… migrate    # install into your own database",
    ]
    return [*steps, f"{name} dev down    # stop the embedded server"] if embedded else steps
