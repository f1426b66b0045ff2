"""Every parameter of every public function, with every edge of its type.

The functions and their parameters come from the catalogue, so a new one is covered by being there. An error
is right when it is one of dotq's own codes; what PostgreSQL says about a literal, before the function begins,
is not the function's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from fuzz.edges import BY_TYPE, INSIDE, schemas
from harness.databases import Database
from harness.world import Function, World, build, checksums, public_functions, public_names, statement

LONGEST_MESSAGE = 1000

# What people and dashboards read afterwards; a value that got in must not break any of it.
READERS = (
    "select * from dotq.fn_queue_fsck()",
    "select * from dotq.fn_job_list()",
    "select * from dotq.v_dead_letter_triage",
    "select * from dotq.v_kind",
    "select * from dotq.v_config",
    "select * from dotq.v_queue_health",
    "select * from dotq.v_queue_status",
    "select * from dotq.v_worker_fleet",
    "select * from dotq.v_job_queue_backlog",
    "select dotq.fn_job_get(job_id) from dotq.job_queue",
    "select e.* from dotq.job_queue as q, dotq.fn_job_explain(q.job_id) as e",
    "select t.* from dotq.job_queue as q, dotq.fn_job_timeline(q.job_id) as t",
)


class Fuzzer:
    """Calls one function again and again, with one argument wrong at a time."""

    def __init__(self, conn: psycopg.Connection[Any], world: World, function: Function) -> None:
        self.conn = conn
        self.function = function
        self.query = statement(function)
        self.base = world.arguments(function)
        self.codes = {row[0] for row in conn.execute("select code from dotq.v_error_code").fetchall()}
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []
        self.refused: list[dict[str, Any]] = []

    def call(self, **changes: Any) -> str:
        """The outcome of one call, which is undone: ok, or the SQLSTATE."""
        arguments = self.base | changes
        shown = {name: repr(value)[:80] for name, value in changes.items()}
        outcome = "ok"
        try:
            with self.conn.transaction(force_rollback=True):
                self.conn.execute(self.query, arguments).fetchall()
                if self.function.writes and changes:
                    self.read_everything(shown)
        except psycopg.Error as error:
            outcome = error.sqlstate or "none"
            if self.blame(error, shown):
                self.refused.append(arguments)
        self.outcomes[outcome] += 1
        return outcome

    def blame(self, error: psycopg.Error, shown: dict[str, str]) -> bool:
        """Whether the function refused; what it should not have said becomes a fault."""
        inside = "function dotq." in (error.diag.context or "")
        if not inside and error.sqlstate in {"22P02", "22P05", "22007", "22008", "54001"}:
            return False
        if error.sqlstate not in self.codes:
            context = (error.diag.context or "")[:300]
            self.faults.append(f"{shown}: {error.sqlstate} {str(error)[:200]} {context}")
            return True
        for said in (error.diag.message_primary or "", error.diag.message_hint or ""):
            if len(said) > LONGEST_MESSAGE or any(ord(letter) < 32 for letter in said):
                self.faults.append(f"{shown}: not one short line: {said[:80]!r} ({len(said)} characters)")
        return True

    def read_everything(self, shown: dict[str, str]) -> None:
        for query in READERS:
            try:
                rows = self.conn.execute(query.encode()).fetchall()
            except psycopg.Error as error:
                self.faults.append(f"{shown}: was accepted, and then {query}: {str(error)[:200]}")
                raise
            if "fsck" in query and rows:
                self.faults.append(f"{shown}: was accepted, and then fsck finds {rows}")


@pytest.fixture
def fuzzer(db: Database, request: pytest.FixtureRequest) -> Fuzzer:
    conn = db.connect()
    conn.execute("set statement_timeout = '60s'")
    world = build(conn)
    return Fuzzer(conn, world, public_functions(conn)[request.param])


EACH_FUNCTION = pytest.mark.parametrize("fuzzer", public_names(), indirect=True)


def test_the_list_of_functions_is_the_catalogue(db: Database) -> None:
    assert sorted(public_functions(db.connect())) == sorted(public_names())


@EACH_FUNCTION
def test_a_bad_argument_is_refused_by_code_and_changes_nothing(fuzzer: Fuzzer) -> None:
    conn = fuzzer.conn
    before = checksums(conn)
    assert fuzzer.call() == "ok", f"the valid call was refused: {fuzzer.faults}"
    for name, kind in fuzzer.function.parameters.items():
        extra = []
        if name == "p_key":
            extra = [row[0] for row in conn.execute("select key from dotq.fn_config_spec()").fetchall()]
        for value in [*BY_TYPE[kind], *extra]:
            fuzzer.call(**{name: value})
    assert not fuzzer.faults, "\n".join(fuzzer.faults)
    for arguments in fuzzer.refused:
        with pytest.raises(psycopg.Error):
            conn.execute(fuzzer.query, arguments)
    assert checksums(conn) == before, "a refused call changed something"


@EACH_FUNCTION
def test_all_arguments_null_is_refused_or_harmless(fuzzer: Fuzzer) -> None:
    fuzzer.call(**dict.fromkeys(fuzzer.function.parameters))
    assert not fuzzer.faults, "\n".join(fuzzer.faults)


@pytest.mark.parametrize("fuzzer", ["fn_kind_set"], indirect=True)
def test_every_policy_with_every_kind_of_value(fuzzer: Fuzzer) -> None:
    names = [row[0] for row in fuzzer.conn.execute("select name from dotq.fn_kind_policy_spec()").fetchall()]
    for name in [*names, "nonsense", "", "job_kind", "registered_by"]:
        for value in INSIDE:
            fuzzer.call(p_policy=f'{{"{name}": {value}}}')
    assert not fuzzer.faults, "\n".join(fuzzer.faults)
    assert fuzzer.outcomes["ok"] > len(names), "a null is always accepted"


@pytest.mark.parametrize("fuzzer", ["fn_kind_set"], indirect=True)
def test_a_schema_that_was_accepted_never_breaks_an_enqueue(fuzzer: Fuzzer) -> None:
    """Whatever schema fn_kind_set lets in, payloads are then taken or refused with dotq's own codes."""
    conn = fuzzer.conn
    accepted = 0
    payloads = ["{}", '{"to": "x"}', '{"to": 1e300}', '{"to": ["x", "x", null]}', '{"to": {"to": {"to": 1}}}']
    for schema in schemas():
        policy = '{"payload_schema": ' + schema + "}"
        with conn.transaction(force_rollback=True):
            try:
                with conn.transaction():
                    conn.execute("select dotq.fn_kind_set('mail', %s, 'tests')", [policy])
            except psycopg.Error as error:
                fuzzer.blame(error, {"schema": schema[:200]})
                continue
            accepted += 1
            for payload in payloads:
                try:
                    with conn.transaction(force_rollback=True):
                        conn.execute("select dotq.fn_job_enqueue('mail', 'tests', null, %s)", [payload])
                except psycopg.Error as error:
                    fuzzer.blame(error, {"schema": schema[:200], "payload": payload})
    assert not fuzzer.faults, "\n".join(fuzzer.faults)
    assert accepted > 100


@pytest.mark.parametrize("fuzzer", ["fn_dead_letter_replay_many"], indirect=True)
def test_every_filter_with_every_kind_of_value(fuzzer: Fuzzer) -> None:
    for name in ("kind", "fingerprint", "cause", "status", "nonsense", ""):
        for value in INSIDE:
            fuzzer.call(p_filter=f'{{"{name}": {value}}}')
    assert not fuzzer.faults, "\n".join(fuzzer.faults)


@pytest.mark.parametrize("fuzzer", ["fn_payload_problem"], indirect=True)
def test_any_schema_may_be_tried_on_any_value(fuzzer: Fuzzer) -> None:
    for schema in schemas():
        fuzzer.call(p_schema=schema)
    assert not fuzzer.faults, "\n".join(fuzzer.faults)


@pytest.mark.parametrize("fuzzer", ["fn_config_set"], indirect=True)
def test_every_setting_with_every_kind_of_value(fuzzer: Fuzzer) -> None:
    """A value is taken or refused, and what is taken reads back the same."""
    conn = fuzzer.conn
    odd = [
        "1",
        "0",
        "on",
        "OFF",
        "Yes",
        " true ",
        "t",
        "y",
        "5",
        " 5 ",
        "+5",
        "-5",
        "5.0",
        "1e3",
        "0x5",
        "5s",
    ]
    odd += ["\u0665", "\uff15"]
    odd += ["300", "86400", "999999999", "1000000000", "99999999999999999999", "maybe", ""]
    for key, kind in conn.execute("select key, value_type from dotq.fn_config_spec()").fetchall():
        for value in odd:
            with conn.transaction(force_rollback=True):
                try:
                    with conn.transaction():
                        answer = conn.execute("select dotq.fn_config_set(%s, %s, 'tests')", [key, value])
                except psycopg.Error as error:
                    fuzzer.blame(error, {"key": key, "value": value})
                    continue
                stored = answer.fetchall()[0][0]["value"]
                query = "select value, effective, readable from dotq.v_config where key = %s"
                assert conn.execute(query, [key]).fetchall() == [(stored, stored, True)], (key, kind, value)
    assert not fuzzer.faults, "\n".join(fuzzer.faults)
