"""The driver against the catalogue of the database: nothing missing, nothing invented, nothing decided."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID
from zipfile import ZipFile

import psycopg
import pytest

import dotq
from dotq import AsyncClient, Client, as_dict
from dotq import _rows as row_types
from dotq._sqlfiles import load
from driver.support import ME, scalar
from driver.twin import PACKAGE, SOURCE, TWIN, twin
from harness.databases import Database

# Granted because views and other functions call them; a person reads the same elsewhere.
LEFT_OUT = {
    "fn_clock_now": "server_time() answers it, with an offset",
    "fn_config_boolean": "config() has the value that counts",
    "fn_config_integer": "config() has the value that counts",
    "fn_config_readable": "config() says whether a value can be read",
    "fn_config_spec": "config() lists every setting with what is allowed",
}
# Methods of their own, beside one per function and one or two per view.
HELPERS = {"server_time"}

PYTHON_TYPES: dict[str, Any] = {
    "uuid": UUID,
    "text": str,
    "integer": int,
    "boolean": bool,
    "text[]": list[str],
    "timestamp with time zone": datetime,
}

FAR = datetime(2100, 1, 1, tzinfo=timezone.utc)

_GRANTED = """
select p.proname, coalesce(p.proargnames, '{}'), p.pronargs, p.pronargdefaults, p.proargmodes::text[],
    array(select format_type(t, null) from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) as t)
from pg_proc as p
where p.pronamespace = 'dotq'::regnamespace
  and exists (
      select from aclexplode(p.proacl) as acl
      join pg_roles as r on r.oid = acl.grantee
      where r.rolname in ('dotq_producer', 'dotq_worker', 'dotq_operator', 'dotq_reader')
        and acl.privilege_type = 'EXECUTE'
  )
"""


@dataclasses.dataclass(frozen=True)
class Function:
    """A granted function as the catalogue has it."""

    name: str
    required: list[str]
    optional: list[str]
    types: dict[str, str]
    columns: list[str]


@dataclasses.dataclass(frozen=True)
class Sent:
    """One call that a method would have made."""

    statement: str
    arguments: dict[str, Any]


class Recorder(Client):
    """A client that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]

    def _run(self, call: Any) -> Any:
        raise _Sent(Sent(call.statement.as_string(None), call.arguments))


class _Sent(Exception):
    pass


def sent(method: str, *arguments: Any, **options: Any) -> Sent:
    """What a method sends."""
    with pytest.raises(_Sent) as caught:
        getattr(Recorder(), method)(*arguments, **options)
    found: Sent = caught.value.args[0]
    return found


def granted(conn: psycopg.Connection[Any]) -> dict[str, Function]:
    """Every function that a run-time role may call."""
    found = {}
    for name, names, count, defaults, modes, kinds in conn.execute(_GRANTED).fetchall():
        inputs = [argument.removeprefix("p_") for argument in names[:count]]
        outputs = [n for n, mode in zip(names, modes or [], strict=False) if mode == "t"]
        split = count - defaults
        found[name] = Function(
            name,
            inputs[:split],
            inputs[split:],
            dict(zip(inputs, kinds, strict=False)),
            outputs,
        )
    return found


def public(client: type) -> dict[str, Any]:
    """The methods of a client that are for its users."""
    return {name: member for name, member in inspect.getmembers(client, inspect.isfunction) if name[0] != "_"}


def parameters(method: Any) -> tuple[list[str], list[str]]:
    """The positional parameters of a method, and those by keyword only."""
    found = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    positional = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
    keyword = [p.name for p in found if p.kind is p.KEYWORD_ONLY]
    assert len(positional) + len(keyword) == len(found)
    return positional, keyword


def alternatives(hint: Any) -> list[Any]:
    """The types that a hint allows, without None."""
    if get_origin(hint) in {types.UnionType, Union}:
        return [part for part in get_args(hint) if part is not types.NoneType]
    return [hint]


def row_type(method: Any) -> Any:
    """The row type that a method returns, one or many of."""
    (hint,) = alternatives(get_type_hints(method)["return"])
    return get_args(hint)[0] if get_origin(hint) is list else hint


def views(conn: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Every view with its columns in order."""
    query = """
        select c.relname, array_agg(a.attname::text order by a.attnum)
        from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = 'dotq'::regnamespace and c.relkind = 'v'
        group by c.relname
    """
    return dict(conn.execute(query).fetchall())


def readers() -> dict[str, str]:
    """Which view each method reads that reads one."""
    found = {}
    for name, method in public(Client).items():
        positional, _ = parameters(method)
        if match := re.search(r'from "dotq"\."(v_\w+)"', sent(name, *("{}" for _ in positional)).statement):
            found[name] = match.group(1)
    return found


def test_one_method_per_granted_function(db: Database) -> None:
    functions = granted(db.connect())
    assert set(LEFT_OUT) <= set(functions)
    expected = {name.removeprefix("fn_") for name in set(functions) - set(LEFT_OUT)}
    assert set(public(Client)) - set(readers()) - HELPERS == expected


def test_parameters_are_sqls_in_sqls_order(db: Database) -> None:
    functions = granted(db.connect())
    for name in sorted(set(functions) - set(LEFT_OUT)):
        function, method = functions[name], public(Client)[name.removeprefix("fn_")]
        assert parameters(method) == (function.required, function.optional), name
        hints = get_type_hints(method)
        for parameter, kind in function.types.items():
            allowed = alternatives(hints[parameter])
            if kind == "jsonb":
                origins = {get_origin(part) or part for part in allowed}
                assert origins <= {Mapping, object, row_types.Json}, (name, parameter)
            else:
                assert PYTHON_TYPES[kind] in allowed, (name, parameter)


def test_a_method_calls_the_function_of_its_name_with_what_was_given(db: Database) -> None:
    for name, function in granted(db.connect()).items():
        if name in LEFT_OUT:
            continue
        method = name.removeprefix("fn_")
        bare = sent(method, *("1" for _ in function.required))
        assert f'"dotq"."{name}"(' in bare.statement
        assert list(bare.arguments) == function.required
        options = {name: _example(function.types[name]) for name in function.optional}
        full = sent(method, *("1" for _ in function.required), **options)
        assert list(full.arguments) == function.required + function.optional
        assert all(f'"p_{p}" => %({p})s' in full.statement for p in full.arguments)


def _example(kind: str) -> Any:
    known = {"integer": 1, "boolean": False, "text[]": ["x"], "jsonb": {}, "text": "x", "uuid": UUID(int=1)}
    return known.get(kind, FAR)


def test_no_default_of_its_own() -> None:
    for method in public(Client).values():
        for parameter in inspect.signature(method).parameters.values():
            assert parameter.default in (None, inspect.Parameter.empty), (method.__name__, parameter.name)


def test_rows_have_every_column_of_their_function(db: Database) -> None:
    for name, function in granted(db.connect()).items():
        if name not in LEFT_OUT and function.columns:
            fields = [field.name for field in dataclasses.fields(row_type(public(Client)[name[3:]]))]
            assert fields == function.columns, name


def test_every_view_has_a_reader_with_every_column(db: Database) -> None:
    found = views(db.connect())
    assert set(readers().values()) == set(found)
    for method, view in readers().items():
        fields = [field.name for field in dataclasses.fields(row_type(public(Client)[method]))]
        assert fields == found[view], view


def test_jsonb_answers_lose_no_key(db: Database) -> None:
    conn = db.connect()
    client = Client(conn)
    job_id = client.job_enqueue("report", ME).job_id
    pairs = [
        (as_dict(client.job_get(job_id)), "select dotq.fn_job_get(%s)", [job_id]),
        (as_dict(client.kind_get("report")), "select dotq.fn_kind_get('report')", []),
        (as_dict(client.queue_reap()), "select dotq.fn_queue_reap()", []),
        (as_dict(client.queue_maintain("w")), "select dotq.fn_queue_maintain('w')", []),
        (as_dict(client.queue_stale_check()), "select dotq.fn_queue_stale_check()", []),
    ]
    for mine, statement, arguments in pairs:
        assert set(mine) == set(scalar(conn, statement, *arguments)) - {"ok"}, statement


def test_both_clients_are_the_same() -> None:
    ours, theirs = public(Client), public(AsyncClient)
    assert list(ours) == list(theirs)
    for name, method in ours.items():
        assert inspect.iscoroutinefunction(theirs[name]), name
        assert inspect.signature(method) == inspect.signature(theirs[name]), name
        assert method.__doc__ == theirs[name].__doc__
        assert get_type_hints(method) == get_type_hints(theirs[name])


def test_the_asynchronous_client_is_up_to_date() -> None:
    made = ast.dump(ast.parse(twin(SOURCE.read_text(encoding="utf-8"))))
    assert made == ast.dump(ast.parse(TWIN.read_text(encoding="utf-8"))), "run: python tests/driver/twin.py"


def test_every_method_is_exercised_here() -> None:
    """The scenarios run with both clients; each public method is awaited in one of them."""
    awaited = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
                called = node.value.func
                if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                    awaited.add(called.attr if called.value.id == "client" else "")
    assert set(public(Client)) - awaited == set()


def test_every_row_type_is_exported() -> None:
    named = {name for name, member in vars(row_types).items() if dataclasses.is_dataclass(member)}
    assert named <= set(dotq.__all__)
    assert all(getattr(dotq, name) is not None for name in dotq.__all__)
    assert sorted(dir(dotq)) == sorted(dotq.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = dotq.nothing


# Thinness: what Python must not do. The installer and the embedded server are no part of the queue.
INSTALLER = {"_migrate.py", "_sqlfiles.py"}
_WRITES = re.compile(
    r"\b(insert\s+into|update\s+[\w.\"{}]+\s+set|delete\s+from|merge\s+into|truncate\s+\w|copy\s+\w+\s+from)\b",
    re.IGNORECASE,
)
# Whatever the name it is called by: a clock of the client's must not reach the server.
_CLOCKS = {"now", "utcnow", "today", "time_ns", "localtime", "gmtime"}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in INSTALLER and not name.startswith(("_server/", "_sql/")):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def texts(tree: ast.Module) -> Iterator[str]:
    """Every string of a module that is not a docstring; the pieces of an f-string as one."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skip = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
            yield node.value


def tables() -> set[str]:
    """The tables of the migrations."""
    found = {
        name
        for file in load().migrations
        for name in re.findall(r"create (?:unlogged )?table (?:if not exists )?dotq\.(\w+)", file.text)
    }
    assert "job_queue" in found
    return found


def test_no_writing_but_through_functions() -> None:
    assert _WRITES.search("insert into x")
    assert _WRITES.search("update dotq.job_queue set a = 1")
    for name, tree in sources():
        for text in texts(tree):
            assert not _WRITES.search(text), (name, text)


def test_no_table_is_named(db: Database) -> None:
    """A word that is also a parameter or a column, such as job_kind, counts only where a table can stand."""
    conn = db.connect()
    words = {column for columns in views(conn).values() for column in columns}
    words |= {word for f in granted(conn).values() for word in (*f.types, *f.columns)}
    known = tables()
    names = "|".join(sorted(known, key=len, reverse=True))
    placed = re.compile(rf"\b(?:from|join|into|update|table|dotq\s*\.)\s*\"?({names})\b", re.IGNORECASE)
    assert placed.search("select 1 from job_queue")
    for name, tree in sources():
        for text in texts(tree):
            assert not placed.search(text), (name, text)
            assert text not in known - words, (name, text)


def test_no_clock_and_no_backoff() -> None:
    for name, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                clock = node.attr in _CLOCKS or ast.unparse(node) == "time.time"
                assert not clock, (name, node.lineno)
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                assert {alias.name for alias in node.names} <= {"monotonic", "perf_counter", "sleep"}, name
            if isinstance(node, ast.BinOp):
                assert not isinstance(node.op, ast.Pow | ast.LShift), (name, node.lineno)


def test_the_import_is_light() -> None:
    heavy = "psycopg click rich asyncio dotq._server dotq._migrate importlib.metadata"
    code = f"import sys, dotq; print(*[m for m in {heavy.split()!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_version_is_the_packages() -> None:
    code = "import dotq, importlib.metadata as m; print(dotq.__version__ == m.version('dotq'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_the_wheel_says_that_it_is_typed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    done = subprocess.run(
        [*command, str(PACKAGE.parents[1])], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    if done.returncode and re.search(r"No matching distribution|Connection|Max retries", done.stderr):
        pytest.skip("the build backend cannot be fetched")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    assert {"dotq/py.typed", "dotq/_client.py", "dotq/_aclient.py", "dotq/_sql/bootstrap.sql"} <= names
