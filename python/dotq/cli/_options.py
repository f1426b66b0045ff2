"""The global options, which may stand before or after the command, and the types of arguments."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar
from uuid import UUID

import click
from click.core import ParameterSource

from dotq._rows import Json
from dotq.cli._common import EXIT_INTERRUPTED, EXIT_USAGE, App, fail
from dotq.cli._json import read_json

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any] | click.Command)
FORMATS = ("table", "json", "jsonl", "csv")


def _store(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback that writes a global option into the App, when it was given."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT:
            setattr(context.ensure_object(App), name, value)

    return callback


def _format(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """--json and --format say the same thing; the command line counts more than the environment."""
    source = context.get_parameter_source(parameter.name or "")
    wanted = "json" if value is True else value
    if source is ParameterSource.DEFAULT or not wanted:
        return
    key = f"dotq.format:{context.command_path}"
    earlier = context.meta.get(key)
    if earlier is None:
        context.meta[key] = (source, wanted)
        context.ensure_object(App).output = wanted
    elif earlier[0] is source and earlier[1] != wanted:
        raise click.UsageError("--json and --format disagree", context)


def _no_color(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.color = False
        root = context.find_root()
        root.color = False


def global_options(*, nested: bool) -> list[Option]:
    """The options of `dotq` itself; `nested`: the silent twins that every command accepts as well."""
    common: dict[str, Any] = {"expose_value": False, "hidden": nested, "allow_from_autoenv": not nested}
    return [
        Option(
            ["-d", "--dsn"],
            metavar="DSN",
            callback=_store("dsn"),
            help="Database; else DOTQ_DATABASE_URL, DATABASE_URL, PG*, the dev server.",
            **common,
        ),
        Option(
            ["--schema"],
            metavar="NAME",
            callback=_store("schema"),
            help="Schema of dotq.  [default: dotq]",
            **common,
        ),
        Option(["--json"], is_flag=True, callback=_format, help="Short for --format json.", **common),
        Option(
            ["--format"],
            type=click.Choice(FORMATS),
            callback=_format,
            help="How results are printed.  [default: table]",
            **common,
        ),
        Option(
            ["-q", "--quiet"],
            is_flag=True,
            callback=_store("quiet"),
            help="No notes on stderr; lists of jobs and dead letters print ids only.",
            **common,
        ),
        Option(
            ["-v", "--verbose"],
            count=True,
            callback=_store("verbose"),
            help="Say more; -vv: tracebacks.",
            **common,
        ),
        Option(
            ["--no-color"],
            is_flag=True,
            callback=_no_color,
            help="No colour.",
            **common,
        ),
        Option(
            ["--actor"],
            metavar="NAME",
            callback=_store("actor_name"),
            help="Who did it, for the record.  [default: user@host]",
            **common,
        ),
        Option(
            ["--timeout"],
            type=Span(),
            callback=_store("timeout"),
            help="Give up on a statement after this long; 0: never.  [default: 10s]",
            **common,
        ),
    ]


class Option(click.Option):
    """An option whose name in the environment is the one that people type, whatever Python calls it."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        if not self.allow_from_autoenv or ctx.auto_envvar_prefix is None:
            return super().resolve_envvar_value(ctx)
        return os.environ.get(self.environment_name(ctx)) or None

    def environment_name(self, ctx: click.Context) -> str:
        """DOTQ_JOB_LIST_LIMIT for `dotq job list --limit`."""
        word = max(self.opts, key=len).lstrip("-").replace("-", "_")
        return f"{ctx.auto_envvar_prefix}_{word}".upper()


def option(*names: str, **attributes: Any) -> Callable[[_F], _F]:
    """click.option, with the class above."""
    return click.option(*names, cls=Option, **attributes)


class Command(click.Command):
    """A command that also takes the global options, unless it has one of that name itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        taken = {name for parameter in self.params for name in parameter.opts}
        for option in global_options(nested=True):
            option.opts = [name for name in option.opts if name not in taken]
            if option.opts:
                self.params.append(option)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text("The options of `dotq --help` may stand here too.")


class PassingOn(click.Command):
    """A command whose words all belong to the program that it starts."""


class Group(click.Group):
    """A group whose commands are of the class above."""

    command_class = Command


def examples(*lines: str) -> str:
    """The block of examples under a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


class Id(ParamType):
    """A uuid, whole: version 7 uuids of one hour all begin alike, so a cut one would say nothing."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> UUID:
        if isinstance(value, UUID):
            return value
        try:
            return UUID(value.strip())
        except ValueError:
            self.fail(
                f"{value!r} is not an id; ids are whole uuids, as `--format json` or a table print them",
                param,
                ctx,
            )


class Span(ParamType):
    """A length of time: 45s, 5m, 2h, 1d, 1h30m; a plain number is seconds."""

    name = "span"
    _units: ClassVar = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        text = value.strip().lower()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            text += "s"
        if not re.fullmatch(r"(\d+(\.\d+)?[smhdw])+", text):
            self.fail(f"{value!r} is not a length of time; write 45s, 5m, 2h, 1d or 1h30m", param, ctx)
        parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text)
        try:
            return timedelta(seconds=sum(float(number) * self._units[unit] for number, unit in parts))
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


class Moment(ParamType):
    """A time in ISO 8601, with its zone: a time without one means something else on the server than here."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        text = re.sub(r"[zZ]$", "+00:00", value.strip())
        text = re.sub(r"(?<=:\d\d)((?::\d\d(?:\.\d+)?)?[+-]\d\d):?(\d\d)?$", _offset, text)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{value!r} is not a time; write 2030-01-31T09:00Z or 2030-01-31T09:00+01:00", param, ctx)
        if moment.tzinfo is None:
            self.fail(f"{value!r} has no zone; add Z or an offset such as +01:00", param, ctx)
        return moment


def _offset(found: re.Match[str]) -> str:
    """+01 and +0130 as Python 3.10 wants them."""
    return f"{found[1]}:{found[2] or '00'}"


class Priority(ParamType):
    """A number, or one of the driver's names."""

    name = "priority"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        return int(value) if re.fullmatch(r"-?\d{1,18}", str(value)) else str(value)


class JsonText(ParamType):
    """JSON text, @file, or - for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        def refuse(problem: str) -> NoReturn:
            self.fail(problem, param, ctx)

        return value if isinstance(value, Json) else read_json(_source(value, refuse), refuse)


def _source(value: str, refuse: Callable[[str], NoReturn]) -> str:
    """The text that an argument stands for."""
    what = value[1:] or "standard input"
    try:
        if value == "-":
            return sys.stdin.buffer.read().decode()
        if value.startswith("@"):
            return Path(value[1:]).read_text(encoding="utf-8")
    except OSError as error:
        refuse(f"cannot read {what}: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{what} is not UTF-8")
    return value


def sure(question: str, *, yes: bool, instead: str = "say --yes") -> None:
    """Ask on a terminal; elsewhere insist on --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"this would {question}", code=EXIT_USAGE, hint=instead)
    if not click.confirm(f"{question[0].upper()}{question[1:]}?", err=True):
        fail("nothing was done", code=EXIT_INTERRUPTED)
