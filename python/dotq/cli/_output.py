"""How results are printed: in the format that was asked for; a pipe changes only colour and width."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import click

from dotq._rows import Json
from dotq.cli._common import App
from dotq.cli._json import as_json, record
from dotq.cli._text import Column, clean, encodable, layout

_COLOURS = {
    **dict.fromkeys(("ok", "fresh", "succeeded", "open", "active", "replayed"), "green"),
    **dict.fromkeys(("warning", "retry_waiting", "paused", "pending", "key_taken"), "yellow"),
    **dict.fromkeys(("critical", "stale", "failed", "dead_letter", "closed", "disabled"), "red"),
    **dict.fromkeys(("in_progress", "leased"), "cyan"),
}


def out(text: str, *, nl: bool = True) -> None:
    """Data for stdout. A reader that has gone is no error; letters the terminal lacks show as their codes."""
    try:
        click.echo(encodable(text, sys.stdout), nl=nl)
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Let whatever is still printed go nowhere, so that the interpreter's own flush does not fail either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def names(row_type: type) -> list[str]:
    """The columns of a row type."""
    return [field.name for field in fields(row_type)] if is_dataclass(row_type) else []


def cell(value: Any) -> str:
    """A value in a table or in CSV."""
    if value is None:
        return ""
    if isinstance(value, str | UUID):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    return as_json(value, indent=None)


def width() -> int | None:
    """Of the terminal; None when stdout is not one, and lines may be as long as they are."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None


def paint(text: str) -> str:
    """A state, verdict or outcome in its colour; colour is dropped where it is not wanted."""
    colour = _COLOURS.get(text.strip())
    return click.style(text, fg=colour) if colour else text


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """A table as text."""
    heading, *lines = layout(columns, rows, width())
    top = "  ".join(click.style(title, bold=True) for title in heading)
    return "\n".join([top, *["  ".join(paint(part) for part in line).rstrip() for line in lines]])


Shown = Sequence[tuple[Column, Callable[[Any], Any]]]


def show_rows(
    app: App,
    rows: Sequence[Any],
    shown: Shown,
    *,
    none: str,
    header: Sequence[str] = (),
    ids: str | None = None,
) -> None:
    """Print rows: some columns in a table, all in the other formats. `ids`: what -q prints instead."""
    if app.output == "json":
        out(as_json(rows))
    elif app.output == "jsonl":
        for row in rows:
            out(as_json(row, indent=None))
    elif app.output == "csv":
        _csv(header, rows)
    elif app.lists_ids and ids:
        for row in rows:
            out(cell(record(row)[ids]))
    elif rows:
        out(table([column for column, _ in shown], [[cell(get(row)) for _, get in shown] for row in rows]))
    if not rows and none:
        app.note(none)


def show_one(app: App, row: Any, *, hide: Sequence[str] = (), ids: str | None = None) -> None:
    """Print one row: its columns that have a value under each other, or all of them as one object."""
    if app.output == "json":
        out(as_json(row))
    elif app.output == "jsonl":
        out(as_json(row, indent=None))
    elif app.output == "csv":
        _csv((), [row])
    elif app.lists_ids and ids:
        out(cell(record(row)[ids]))
    else:
        out(vertical({key: value for key, value in record(row).items() if value is not None and key not in hide}))


def vertical(values: Mapping[str, Any]) -> str:
    """name, two spaces, value; texts and objects of several lines are indented below each other."""
    size = max((len(key) for key in values), default=0)
    lines = []
    for key, value in values.items():
        text = as_json(value) if isinstance(value, Json | Mapping) or is_dataclass(value) else cell(value)
        first, *others = clean(text, lines=True).split("\n")
        lines.append(f"{click.style(key.ljust(size), bold=True)}  {paint(first)}".rstrip())
        lines.extend(" " * (size + 2) + other for other in others)
    return "\n".join(lines)


def _csv(header: Sequence[str], rows: Sequence[Any]) -> None:
    """All columns, with a heading even when there are no rows."""
    records = [record(row) for row in rows]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(list(records[0]) if records else header)
    writer.writerows([cell(value) for value in line.values()] for line in records)
    out(buffer.getvalue(), nl=False)
