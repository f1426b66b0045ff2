"""One call of a function or view: the statement, its arguments, and how the answer becomes rows.

Shared by both clients, which only send it. Types come from the row types: the server converts and unpacks, so
that a uuid is a UUID and a time an aware datetime whether a function answers in columns or in jsonb.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from types import NoneType
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_args, get_type_hints
from uuid import UUID

from psycopg import sql

from dotq._errors import InvalidArgument
from dotq._rows import Json

T = TypeVar("T")
P = ParamSpec("P")
Row = TypeVar("Row")
Names = list[str] | tuple[str, ...]

# The only table of names in Python, a convenience for people: SQL knows numbers, and serves the lowest first.
PRIORITIES = {"critical": 0, "high": 50, "normal": 100, "low": 200}

_SQL_TYPES: dict[Any, str] = {
    UUID: "uuid",
    str: "text",
    int: "bigint",
    bool: "boolean",
    float: "double precision",
    datetime: "timestamptz",
    Json: "jsonb",
    tuple[str, ...]: "text[]",
}


def _cached(function: Callable[P, T]) -> Callable[P, T]:
    """Remember every answer; there are as many as there are methods and choices of arguments in use."""
    return cast(Callable[P, T], cache(function))


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement for the server, and what to make of the rows that come back."""

    statement: sql.Composed
    arguments: dict[str, Any]
    read: Callable[[Sequence[tuple[Any, ...]]], T]


def rows(schema: str, function: str, row: type[Row], required: dict[str, Any], /, **optional: Any) -> Call[list[Row]]:
    """A function that returns a table."""
    arguments = _arguments(required, optional)
    return Call(
        _select(schema, function, tuple(arguments), row, False),
        arguments,
        lambda found: [_make(row, iter(values)) for values in found],
    )


def answer(schema: str, function: str, row: type[Row], required: dict[str, Any], /, **optional: Any) -> Call[Row]:
    """A function that returns one jsonb object."""
    arguments = _arguments(required, optional)
    return Call(
        _select(schema, function, tuple(arguments), row, True),
        arguments,
        lambda found: _gather(row, found),
    )


def scalar(schema: str, function: str, required: dict[str, Any], /, **optional: Any) -> Call[Any]:
    """A function that returns a single value, or nothing."""
    arguments = _arguments(required, optional)
    statement = sql.SQL("select {}").format(_invocation(schema, function, arguments))
    return Call(statement, arguments, lambda found: found[0][0])


def view(schema: str, name: str, row: type[Row], *, limit: int | None = None, **where: Any) -> Call[list[Row]]:
    """The rows of a view; a filter left as None does not filter."""
    arguments = _arguments({}, where)
    statement = _read_view(schema, name, tuple(arguments), row, limit is not None)
    if limit is not None:
        arguments["limit"] = str(limit)
    return Call(statement, arguments, lambda found: [_make(row, iter(values)) for values in found])


def clock(schema: str, offset: timedelta | None) -> Call[datetime]:
    """The server's time, moved by an offset that the server adds."""
    statement = sql.SQL("select {} + %(offset)s::interval").format(_invocation(schema, "fn_clock_now", {}))
    return Call(statement, {"offset": offset or timedelta(0)}, lambda found: found[0][0])


def jsonb(name: str, value: object) -> str | None:
    """A value as JSON text; None stays None, which is not sent."""
    if value is None:
        return None
    if isinstance(value, Json):
        return value.text
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{name}: cannot be written as JSON: {error}",
            hint="Allowed: dict, list, str, int, finite float, bool and None.",
        ) from error


def priority_number(value: int | str | None) -> int | None:
    """A priority as its number; names are those of PRIORITIES."""
    if not isinstance(value, str):
        return value
    if value not in PRIORITIES:
        raise InvalidArgument(
            f"priority: {value!r} is not a name of a priority",
            hint=f"Allowed: {', '.join(PRIORITIES)}, or a whole number from 0.",
        )
    return PRIORITIES[value]


def _arguments(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    """What is sent: everything that is required, and of the rest what the caller gave."""
    given = {**required, **{name: value for name, value in optional.items() if value is not None}}
    return {name: _adapt(name, value) for name, value in given.items()}


def _adapt(name: str, value: Any) -> Any:
    """A value that PostgreSQL reads as the type of the parameter it is for."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        raise InvalidArgument(
            f"{name}: {value.isoformat(sep=' ')} has no time zone",
            hint="Pass an aware datetime, such as server_time() or datetime(..., tzinfo=timezone.utc).",
        )
    return value


def _invocation(schema: str, function: str, names: Sequence[str] | dict[str, Any]) -> sql.Composed:
    """The function with each argument by its name."""
    passed = [sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder(name)) for name in names]
    return sql.SQL("{}({})").format(sql.Identifier(schema, function), sql.SQL(", ").join(passed))


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a row type: what SQL calls its type, or the row type that it holds one or many of."""

    name: str
    sql_type: sql.SQL
    convert: Callable[[Any], Any] | None = None
    nested: type | None = None
    many: bool = False


@_cached
def _fields(row: type) -> tuple[_Field, ...]:
    hints = get_type_hints(row)
    return tuple(_field(field.name, hints[field.name]) for field in dataclasses.fields(row))


def _field(name: str, hint: Any) -> _Field:
    if NoneType in get_args(hint):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    item = get_args(hint)[0] if hint not in _SQL_TYPES and get_args(hint) else hint
    if hint not in _SQL_TYPES:
        return _Field(name, sql.SQL("jsonb"), nested=item, many=item is not hint)
    convert = {Json: Json, tuple[str, ...]: tuple}.get(hint)
    return _Field(name, sql.SQL(_SQL_TYPES[hint]), convert)


@_cached
def _select(schema: str, function: str, names: tuple[str, ...], row: type, unpack: bool) -> sql.Composed:
    """Read a row type from a function; with `unpack` from the one jsonb object that it returns."""
    called = _invocation(schema, function, names)
    if not unpack:
        return sql.SQL("select {} from {} as r").format(_outputs("r", row), called)
    record = sql.SQL("cross join lateral pg_catalog.jsonb_to_record(answer) as r({})")
    joins = [record.format(_definition(row))]
    for field in _fields(row):
        if field.nested is not None:
            reader = "pg_catalog.jsonb_to_recordset" if field.many else "pg_catalog.jsonb_to_record"
            joins.append(
                sql.SQL("left join lateral {}({}) as {}({}) on {} is not null").format(
                    sql.SQL(reader),
                    sql.Identifier("r", field.name),
                    sql.Identifier(field.name),
                    _definition(field.nested),
                    sql.Identifier("r", field.name),
                )
            )
    return sql.SQL("select {} from {} as answer {}").format(_outputs("r", row), called, sql.SQL(" ").join(joins))


@_cached
def _read_view(schema: str, name: str, columns: tuple[str, ...], row: type, limited: bool) -> sql.Composed:
    """Read a row type from a view, in the view's own order."""
    statement = sql.SQL("select {} from {} as r").format(_outputs("r", row), sql.Identifier(schema, name))
    if columns:
        tests = [sql.SQL("{} = {}").format(sql.Identifier("r", c), sql.Placeholder(c)) for c in columns]
        statement += sql.SQL(" where {}").format(sql.SQL(" and ").join(tests))
    return statement + sql.SQL(" limit {}").format(sql.Placeholder("limit")) if limited else statement


def _outputs(source: str, row: type) -> sql.Composed:
    """The columns of a row type, in its order; before a row type within it, whether it is there."""
    columns: list[sql.Composable] = []
    for field in _fields(row):
        column = sql.Identifier(source, field.name)
        if field.nested is not None:
            key = sql.Identifier(field.name, dataclasses.fields(field.nested)[0].name)
            columns += [sql.SQL("{} is not null").format(key), _outputs(field.name, field.nested)]
        elif field.convert is Json:
            columns.append(sql.SQL("{}::text").format(column))
        else:
            columns.append(sql.SQL("{}::{}").format(column, field.sql_type))
    return sql.SQL(", ").join(columns)


def _definition(row: type) -> sql.Composed:
    """The column definitions by which jsonb is unpacked."""
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(field.name), field.sql_type) for field in _fields(row)
    )


def _make(row: type[Row], values: Any) -> Row:
    """A row from the values of its columns."""
    made: list[Any] = []
    for field in _fields(row):
        value = next(values)
        if field.nested is not None:
            inner: Any = _make(field.nested, values)
            made.append((inner if value else None) if not field.many else ((inner,) if value else ()))
        else:
            made.append(value if value is None or field.convert is None else field.convert(value))
    return row(*made)


def _gather(row: type[Row], found: Sequence[tuple[Any, ...]]) -> Row:
    """One answer from as many rows as the list in it is long."""
    first, *others = [_make(row, iter(values)) for values in found]
    for field in _fields(row):
        if field.many:
            everything = [item for part in (first, *others) for item in getattr(part, field.name)]
            first = dataclasses.replace(first, **{field.name: tuple(everything)})  # type: ignore[type-var]
    return first
