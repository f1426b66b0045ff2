"""What every command shares: where the database is, whose name is written down, what exit codes mean."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

import click
import psycopg
from psycopg import conninfo as _conninfo

from dotq._client import Client
from dotq._commit import indeterminate_commit_guard
from dotq._errors import DotqError, GateClosed
from dotq._server import running_dev_dsn
from dotq._sqlfiles import SchemaNameError
from dotq.cli._text import clean, encodable

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_CONNECT = 3
EXIT_NOT_FOUND = 4
EXIT_REFUSED = 5
EXIT_SCHEMA = 6
EXIT_PARTLY = 7
EXIT_TIMEOUT = 8
EXIT_WARNING = 10
EXIT_CRITICAL = 20
EXIT_INTERRUPTED = 130

# The one table of exit codes by SQLSTATE; a class (two characters) counts when the whole code is not listed.
_EXIT_BY_SQLSTATE = {
    "22": EXIT_USAGE,
    "JQ007": EXIT_USAGE,
    "08": EXIT_CONNECT,
    "57P01": EXIT_CONNECT,
    "57P02": EXIT_CONNECT,
    "57P03": EXIT_CONNECT,
    "JQ002": EXIT_NOT_FOUND,
    "JQ005": EXIT_NOT_FOUND,
    "JQ008": EXIT_NOT_FOUND,
    "JQ011": EXIT_NOT_FOUND,
    "JQ001": EXIT_REFUSED,
    "JQ003": EXIT_REFUSED,
    "JQ004": EXIT_REFUSED,
    "JQ006": EXIT_REFUSED,
    "JQ009": EXIT_REFUSED,
    "JQ010": EXIT_REFUSED,
    "JQ014": EXIT_REFUSED,
    "0A000": EXIT_REFUSED,
    "25006": EXIT_REFUSED,
    "2BP01": EXIT_REFUSED,
    "42501": EXIT_REFUSED,
    "55000": EXIT_REFUSED,
    "JQ012": EXIT_SCHEMA,
    "JQ013": EXIT_SCHEMA,
    "3F000": EXIT_SCHEMA,
    "42P01": EXIT_SCHEMA,
    "42703": EXIT_SCHEMA,
    "42883": EXIT_SCHEMA,
    "55P03": EXIT_TIMEOUT,
    "57014": EXIT_TIMEOUT,
}
_NOT_INSTALLED = {"3F000", "42P01", "42703", "42883"}
_LIBPQ_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")
_CONNECT_SECONDS = 10


def exit_code(sqlstate: str | None) -> int:
    """The exit code for a SQLSTATE."""
    state = sqlstate or ""
    return _EXIT_BY_SQLSTATE.get(state) or _EXIT_BY_SQLSTATE.get(state[:2]) or EXIT_ERROR


def complain(message: str, *, sqlstate: str | None = None, hint: str | None = None) -> None:
    """Print one line (and a hint) on stderr."""
    suffix = f" [{sqlstate}]" if sqlstate else ""
    _tell(f"dotq: {message}{suffix}")
    if hint:
        _tell(f"hint: {hint}")


def _tell(text: str) -> None:
    click.echo(encodable(clean(text), sys.stderr), err=True)


def fail(message: str, *, code: int = EXIT_ERROR, sqlstate: str | None = None, hint: str | None = None) -> NoReturn:
    """Print one line (and a hint) on stderr and leave with the documented exit code."""
    complain(message, sqlstate=sqlstate, hint=hint)
    sys.exit(code)


def mask(text: str, dsn: str = "") -> str:
    """Hide passwords: those written in the text itself, and wherever the one of `dsn` is repeated."""
    try:
        parts = _conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        parts = {}
    for name in ("password", "sslpassword"):
        secret = str(parts.get(name) or "")
        if secret:
            text = text.replace(secret, "****")
    text = re.sub(r"(://[^/@\s:]*:)[^@\s]*@", r"\1****@", text)
    return re.sub(r"((?:ssl)?password=)('(?:[^'\\]|\\.)*'|[^\s&')]+)", r"\1****", text)


def default_actor() -> str:
    """user@host of the operating system."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = f"uid{os.getuid()}"
    return f"{user}@{socket.gethostname()}"


@dataclass
class Problem:
    """An error as one line: what to print and how to leave."""

    message: str
    code: int
    sqlstate: str | None = None
    hint: str | None = None

    def leave(self) -> NoReturn:
        """Print it and exit."""
        fail(self.message, code=self.code, sqlstate=self.sqlstate, hint=self.hint)


@dataclass
class App:
    """The global options of one invocation."""

    dsn: str | None = None
    schema: str = "dotq"
    output: str = "table"
    actor_name: str | None = None
    timeout: timedelta = timedelta(seconds=10)
    verbose: int = 0
    quiet: bool = False
    command: str = "dotq"

    @property
    def actor(self) -> str:
        """--actor, else the user of the operating system."""
        return self.actor_name if self.actor_name is not None else default_actor()

    @property
    def lists_ids(self) -> bool:
        """-q with a table: only the ids, for the next command in a pipe."""
        return self.quiet and self.output == "table"

    def note(self, message: str) -> None:
        """Tell a person something on stderr, unless -q."""
        if not self.quiet:
            _tell(message)

    def conninfo(self) -> str:
        """--dsn, DOTQ_DATABASE_URL, DATABASE_URL, libpq's own variables, then the running dev server."""
        if self.dsn is not None and not self.dsn.strip():
            fail("--dsn is empty", code=EXIT_USAGE, hint="pass a connection string, or leave --dsn out")
        explicit = self.dsn or os.environ.get("DOTQ_DATABASE_URL") or os.environ.get("DATABASE_URL")
        if explicit:
            return explicit
        if any(os.environ.get(name) for name in _LIBPQ_VARIABLES):
            return ""
        dev = running_dev_dsn()
        if dev is None:
            fail(
                "no database: nothing says where PostgreSQL is",
                code=EXIT_CONNECT,
                hint="pass --dsn, set DATABASE_URL or PGHOST/PGDATABASE, or run `dotq dev up`",
            )
        self.note(f"dotq: using the dev server ({mask(dev, dev)})")
        return dev

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection:
        """Open the one connection of this command."""
        dsn = self.conninfo()
        try:
            given = _conninfo.conninfo_to_dict(dsn)
        except psycopg.ProgrammingError:
            # libpq's own words quote parts of the string, and one of them may be the password.
            fail(
                "the connection string cannot be read",
                code=EXIT_CONNECT,
                hint="write postgresql://user@host:5432/database, or host=… dbname=…",
            )
        options: dict[str, Any] = {"application_name": f"dotq-{self.command}"}
        if "connect_timeout" not in given and not os.environ.get("PGCONNECT_TIMEOUT"):
            options["connect_timeout"] = _CONNECT_SECONDS
        try:
            connection = psycopg.connect(dsn, autocommit=autocommit, **options)
        except psycopg.Error as error:
            reason = mask(_first_line(error).removeprefix("connection failed: "), dsn)
            fail(f"cannot connect: {reason}", code=EXIT_CONNECT)
        if self.verbose:
            info = connection.info
            self.note(f"dotq: connected to {info.dbname} at {info.host or 'localhost'} as {info.user}")
            connection.add_notice_handler(lambda notice: self.note(f"server: {notice.message_primary}"))
        return connection

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One connection for several transactions."""
        with self.connect() as connection:
            yield Session(self, connection)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """One connection, one transaction: committed before anything is printed."""
        with self.session() as session, session.transaction() as client:
            yield client

    def problem(self, error: DotqError | psycopg.Error) -> Problem:
        """What an error of the driver or of the server means for the person at the prompt."""
        if isinstance(error, psycopg.Error):
            return self._server_problem(error)
        code = EXIT_USAGE if isinstance(error, SchemaNameError) else exit_code(error.sqlstate)
        hint = "`dotq gate list` shows the gates, `dotq gate open` opens one"
        return Problem(error.message, code, error.sqlstate, hint if isinstance(error, GateClosed) else error.hint)

    def _server_problem(self, error: psycopg.Error) -> Problem:
        state = error.sqlstate
        problem = Problem(
            error.diag.message_primary or _first_line(error), exit_code(state), state, error.diag.message_hint
        )
        if state in _NOT_INSTALLED:
            again = "dotq migrate" if self.schema == "dotq" else f"dotq --schema {self.schema} migrate"
            problem.message = f"schema {self.schema} has no dotq, or an older one: {problem.message}"
            problem.hint = f"run `{again}`"
        elif state == "57014":
            problem.hint = f"--timeout is {self.timeout.total_seconds():g} s; 0 waits for ever"
        elif state is None and isinstance(error, psycopg.OperationalError):
            problem = Problem(f"the connection was lost: {mask(problem.message)}", EXIT_CONNECT)
        elif state is None and isinstance(error, psycopg.DataError):
            problem.code = EXIT_USAGE
        return problem

    def explain_traceback(self) -> None:
        """-vv: where it happened, for whoever mends dotq."""
        if self.verbose > 1:
            click.echo(mask(traceback.format_exc()), err=True, nl=False)


class Session:
    """A connection of the command line; each transaction has the statement timeout."""

    def __init__(self, app: App, connection: psycopg.Connection) -> None:
        self._app = app
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[Client]:
        """A transaction that commits at the end; the timeout ends with it, also behind a pooler."""
        with indeterminate_commit_guard(self._connection), self._connection.transaction():
            milliseconds = str(round(self._app.timeout.total_seconds() * 1000))
            self._connection.execute("select set_config('statement_timeout', %s, true)", [milliseconds])
            yield Client(self._connection, schema=self._app.schema)


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


pass_app = click.make_pass_decorator(App)
