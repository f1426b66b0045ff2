"""JSON in and out, with every number in the digits it was written in."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from typing import Any, NoReturn
from uuid import UUID

import click

from dotq._rows import Json


def record(row: object) -> dict[str, Any]:
    """A row of the driver as plain values, under the names of its SQL columns."""
    if isinstance(row, Mapping):
        return dict(row)
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    raise TypeError(f"{type(row).__name__} is not a row")


class Number(str):
    """A number in the server's own digits: a float would round them."""

    __slots__ = ()


def opened(value: Json) -> Any:
    """A jsonb value taken apart without touching its numbers; one that Python cannot walk stays as it is."""
    try:
        return json.loads(value.text, parse_int=Number, parse_float=Number)
    except (ValueError, RecursionError):
        return Number(value.text)


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON under the names of SQL's columns; times in ISO 8601, jsonb exactly as the server has it."""
    return _json(value, indent, "")


def _json(value: Any, indent: int | None, margin: str) -> str:
    if isinstance(value, Json):
        value = opened(value)
    inner = "" if indent is None else margin + " " * indent
    if isinstance(value, list | tuple):
        return _joined("[]", [_json(item, indent, inner) for item in value], indent, margin)
    if isinstance(value, Mapping) or is_dataclass(value):
        items = record(value).items()
        parts = [f"{_scalar(str(key))}: {_json(item, indent, inner)}" for key, item in items]
        return _joined("{}", parts, indent, margin)
    return _scalar(value)


def _joined(ends: str, parts: list[str], indent: int | None, margin: str) -> str:
    if indent is None or not parts:
        return ends[0] + ", ".join(parts) + ends[1]
    line = "\n" + margin + " " * indent
    return ends[0] + line + ("," + line).join(parts) + "\n" + margin + ends[1]


def _scalar(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, datetime):
        value = value.astimezone(timezone.utc).isoformat()
    elif isinstance(value, UUID):
        value = str(value)
    elif isinstance(value, float) and not math.isfinite(value):
        value = None
    return json.dumps(value, ensure_ascii=not _carries_unicode())


def _carries_unicode() -> bool:
    """Whether stdout can print any letter."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def read_json(text: str, refuse: Callable[[str], NoReturn]) -> Json:
    """Check that a text is JSON, for an error that names the place; the text itself is what is sent."""

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON value")

    try:
        json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant)
    except json.JSONDecodeError as error:
        refuse(f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
    except RecursionError:
        refuse("not JSON: nested too deeply")
    except ValueError as error:
        refuse(f"not JSON: {error}")
    return Json(text)


def assigned(base: Json | None, assignments: tuple[str, ...]) -> Json | None:
    """Put name=text and name:=json into an object; None when there is nothing at all."""
    if not assignments:
        return base
    result = opened(base) if base is not None else {}
    if not isinstance(result, dict):
        raise click.UsageError("-P needs a JSON object to add to")
    for word in assignments:
        name, equals, value = word.partition("=")
        typed = name.endswith(":")
        name = name.removesuffix(":")
        if not equals or not name:
            raise click.UsageError(f"-P {word}: write name=text or name:=json")

        def refuse(problem: str, word: str = word) -> NoReturn:
            raise click.UsageError(f"-P {word}: {problem}")

        result[name] = read_json(value, refuse) if typed else value
    return Json(as_json(result, indent=None))
