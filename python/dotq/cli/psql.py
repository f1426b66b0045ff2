"""`dotq psql`: a prompt on the same database."""

from __future__ import annotations

import os
import shutil

import click
import psycopg
from psycopg import pq

from dotq._server import ServerError, find_installation, find_psql
from dotq.cli._common import EXIT_CONNECT, App, fail, pass_app
from dotq.cli._options import PassingOn, examples


@click.command(
    cls=PassingOn,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog=examples("dotq psql", "dotq psql -c 'select * from dotq.v_queue_status' -x"),
)
@click.argument("arguments", metavar="[PSQL ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@pass_app
def psql(app: App, arguments: tuple[str, ...]) -> None:
    """Open psql on the database that the other commands use; arguments are passed on.

    Takes the psql on PATH, else the one of the embedded PostgreSQL. The connection travels in the
    environment, so that no password shows in the list of processes.
    """
    dsn = app.conninfo()
    program = shutil.which("psql") or _embedded()
    if program is None:
        fail("there is no psql on PATH", hint="install PostgreSQL's client programs, or dotq[dev]")
    try:
        options = pq.Conninfo.parse(dsn.encode())
    except psycopg.Error:
        fail("the connection string cannot be read", code=EXIT_CONNECT)
    environment = {**os.environ, "PGAPPNAME": "dotq-psql"}
    rest = []
    for option in options:
        if option.val is None:
            continue
        if option.envvar:
            environment[option.envvar.decode()] = option.val.decode()
        else:
            rest.append((option.keyword.decode(), option.val.decode()))
    words = [program, *arguments]
    if rest:
        words.insert(1, f"--dbname={psycopg.conninfo.make_conninfo(**dict(rest))}")
    os.execve(program, words, environment)


def _embedded() -> str | None:
    try:
        return find_psql(find_installation())
    except ServerError:
        return None
