"""The command tree."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

import click
import psycopg

from dotq._errors import DotqError
from dotq.cli._common import EXIT_INTERRUPTED, EXIT_USAGE, App, fail
from dotq.cli._options import examples, global_options
from dotq.cli._output import silence
from dotq.cli.config import config, gate
from dotq.cli.demo import demo
from dotq.cli.dev import dev
from dotq.cli.dlq import dlq
from dotq.cli.enqueue import enqueue
from dotq.cli.job import job
from dotq.cli.kind import kind
from dotq.cli.migrate import migrate, sql
from dotq.cli.psql import psql
from dotq.cli.watch import backlog, errors, fsck, health, reap, recent, stuck, worker
from dotq.cli.work import ack, cancel, claim, fail_job, heartbeat, release, start

_SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Set up": (demo, dev, migrate, sql, psql),
    "Jobs": (enqueue, cancel, job, dlq),
    "Work, for workers written in a shell": (claim, start, heartbeat, ack, fail_job, release),
    "See": (health, backlog, stuck, recent, worker, errors),
    "Operate": (gate, kind, config, reap, fsck),
}

EXIT_CODES = """\b
Exit codes:
   0  done; also a duplicate, and nothing to claim
   1  the database reported an error, or a check found something
   2  the command or one of its values is wrong
   3  cannot connect
   4  there is no such job, dead letter, kind or setting
   5  refused: gate closed, lease lost, wrong state, key taken, no permission
   6  dotq is not in this schema, or an older one: run `dotq migrate`
   7  partly done: some of several were refused
   8  timed out
  10  health --check: warning
  20  health --check: critical
 130  interrupted, or answered with no"""


class Root(click.Group):
    """The top: prints the commands by subject, and turns every error into one line and an exit code."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(len(name) for name in self.commands)
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        ((command.name or "").ljust(widest), command.get_short_help_str(formatter.width - 14))
                        for command in commands
                    ]
                )

    def invoke(self, ctx: click.Context) -> Any:
        app = ctx.ensure_object(App)
        try:
            return super().invoke(ctx)
        except (DotqError, psycopg.Error) as error:
            app.explain_traceback()
            app.problem(error).leave()
        except UnicodeEncodeError as error:
            app.explain_traceback()
            fail(f"an argument is not valid text: {error.reason}", code=EXIT_USAGE)
        except BrokenPipeError:
            silence()
        except (KeyboardInterrupt, click.Abort):
            app.explain_traceback()
            fail("interrupted", code=EXIT_INTERRUPTED)


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"dotq {version('dotq')}")
        context.exit()


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "DOTQ"},
    epilog=examples("dotq dev up && dotq migrate && dotq gate open job_substrate", "dotq enqueue report && dotq health")
    + "\n\n"
    + EXIT_CODES
    + "\n\nEvery option has a name in the environment: DOTQ_SCHEMA, DOTQ_JOB_LIST_LIMIT and so on."
    " Results go to stdout, everything else to stderr.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, allow_from_autoenv=False,
    help="Print the version.",
)  # fmt: skip
@click.pass_context
def main(context: click.Context) -> None:
    """dotq: a job queue inside PostgreSQL."""
    app = context.ensure_object(App)
    app.command = context.invoked_subcommand or "dotq"
    if os.environ.get("NO_COLOR"):
        context.color = False
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


main.params[:0] = global_options(nested=False)
for _commands in _SECTIONS.values():
    for _command in _commands:
        main.add_command(_command)
