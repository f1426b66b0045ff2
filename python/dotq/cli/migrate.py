"""`dotq migrate` and `dotq sql`: install, upgrade, and the same as a file."""

from __future__ import annotations

import json
import shlex

import click
import psycopg

from dotq import _migrate
from dotq._sqlfiles import DEFAULT_SCHEMA, SchemaNameError, SqlFilesError, check_schema_name
from dotq.cli._common import (
    EXIT_CONNECT,
    EXIT_ERROR,
    EXIT_SCHEMA,
    App,
    exit_code,
    fail,
    pass_app,
)
from dotq.cli._options import Command, examples, option


def _duration(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return _migrate.check_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def _schema(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The command's own option; without it the global one. Either must be a name that can be installed."""
    app = context.find_object(App)
    name = value if value is not None else app.schema if app else None
    try:
        return None if name is None else check_schema_name(name)
    except SchemaNameError as error:
        raise click.BadParameter(error.message, context, parameter) from error


_schema_option = option(
    "--schema", callback=_schema, metavar="NAME", help="Schema to install in; overrides the global option."
)


@click.command(cls=Command, epilog=examples("dotq migrate", "dotq migrate --status", "dotq migrate --dry-run"))
@_schema_option
@option("--dry-run", is_flag=True, help="Do all of it for real, show it, then roll back.")
@option("--status", "show_status", is_flag=True, help="Only compare the database with this release.")
@option(
    "--lock-timeout",
    default=_migrate.DEFAULT_LOCK_TIMEOUT,
    show_default=True,
    callback=_duration,
    help="Give up rather than wait longer for a lock, with everybody else queued behind.",
)
@option(
    "--wait",
    "wait_timeout",
    default=_migrate.DEFAULT_WAIT_TIMEOUT,
    show_default=True,
    callback=_duration,
    help="How long to wait for another migration of the same database.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def migrate(
    app: App,
    *,
    schema: str,
    dry_run: bool,
    show_status: bool,
    lock_timeout: str,
    wait_timeout: str,
    as_json: bool,
) -> None:
    """Install dotq, or bring it up to this release.

    All of it happens in one transaction: it succeeds, or the database stays as it was. Applied migrations are
    skipped; functions and views are made anew. --dry-run takes the same locks for as long as it runs.

    --status leaves with code 6 unless the schema is exactly what this release makes.
    """
    if dry_run and show_status:
        raise click.UsageError("--dry-run and --status exclude each other")
    json_wanted = as_json or app.output == "json"
    try:
        with app.connect() as connection:
            if show_status:
                _print_status(_migrate.status(connection, schema), json_wanted)
            else:
                report = _migrate.migrate(
                    connection,
                    schema=schema,
                    lock_timeout=lock_timeout,
                    wait_timeout=wait_timeout,
                    dry_run=dry_run,
                )
                _print_report(report, json_wanted)
    except _migrate.MigrationError as error:
        fail(error.message, code=exit_code(error.sqlstate), sqlstate=error.sqlstate, hint=error.hint)
    except SqlFilesError as error:
        fail(error.message, code=EXIT_ERROR)
    except psycopg.OperationalError as error:
        fail(
            f"the connection was lost: {_first_line(error)}",
            code=EXIT_CONNECT,
            hint="see where things stand with: dotq migrate --status",
        )
    except psycopg.Error as error:
        fail(_first_line(error), code=EXIT_ERROR, sqlstate=error.sqlstate)


@click.command(cls=Command, epilog=examples("dotq sql --schema jobs > dotq.sql"))
@_schema_option
def sql(schema: str) -> None:
    """Print the whole install as one SQL file; no database is needed.

    Use it where Python may not connect: dotq sql | psql -v ON_ERROR_STOP=1 -1
    """
    try:
        click.echo(_migrate.render(schema), nl=False)
    except SqlFilesError as error:
        fail(error.message, code=EXIT_ERROR)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_report(report: _migrate.MigrationReport, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_migrate.as_json(report), indent=2))
        return
    verb = "would apply" if report.dry_run else "applied"
    for migration in report.applied:
        click.echo(f"{verb} {migration.name} ({migration.duration_ms} ms)")
    click.echo(f"{verb} {_count(report.functions, 'function')} and {_count(report.views, 'view')}")
    if report.dry_run:
        click.echo("dry run: everything above was run, worked, and was rolled back")
        return
    changed = report.previous_release not in (None, report.release)
    was = f", before {report.previous_release}" if changed else ""
    kept = f"; {_count(report.unchanged, 'migration')} already there" if report.unchanged else ""
    click.echo(f"schema {report.schema} has dotq {report.release}{was} ({report.duration_ms} ms){kept}")


def _print_status(status: _migrate.SchemaStatus, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_migrate.as_json(status), indent=2))
    else:
        width = max((len(migration.name) for migration in status.migrations), default=0)
        for migration in status.migrations:
            when = f"{migration.applied_at:%Y-%m-%d %H:%M:%S} UTC" if migration.applied_at else ""
            by = f"by {migration.applied_by}" if migration.applied_by else ""
            click.echo(f"{migration.name:<{width}}  {migration.state:<8} {when} {by}".rstrip())
        current = "current" if status.functions_and_views_current else "not those of this release"
        click.echo(f"functions and views: {current if status.installed else 'none'}")
        for name in status.drifted:
            click.echo(f"changed by hand: {name}")
        installed = f"dotq {status.installed_release}" if status.installed_release else "no dotq"
        click.echo(f"schema {status.schema}: {status.state} ({installed} there, this is {status.release})")
    if status.state == "current":
        return
    command = (
        "dotq migrate" if status.schema == DEFAULT_SCHEMA else f"dotq migrate --schema {shlex.quote(status.schema)}"
    )
    advice = {
        "missing": f"run: {command}",
        "behind": f"run: {command}",
        "unknown": "use the release of dotq that applied them, or a later one",
        "edited": "restore the edited migration file",
        "drifted": f"run: {command} (functions and views); tables are for a person to put right",
    }
    fail(f"schema {status.schema} is {status.state}", code=EXIT_SCHEMA, hint=advice[status.state])
