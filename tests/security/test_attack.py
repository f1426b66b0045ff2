"""A login with one role tries to make the owner's functions run its own code, and gains nothing.

It puts a trap under every name that the functions use: functions, operators, types, domains, tables, views,
triggers and policies, in a schema of its own and among its temporary objects, and then calls everything it
may call. A trap rings a bell that survives a rollback, and another one when it rings with the owner's rights.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg import sql

from harness.databases import Database
from harness.world import ROLES, World, build, checksums, public_functions
from security.support import Connection, call, login, outcome
from security.test_rights import FUNCTIONS, may

SETTINGS: list[dict[str, str]] = [
    {},
    {"search_path": "trap, pg_temp, pg_catalog"},
    {"search_path": "pg_temp, trap, dotq, pg_catalog"},
    {"search_path": "pg_temp"},
    {"search_path": ""},
    {"plan_cache_mode": "force_custom_plan"},
    {"check_function_bodies": "off"},
    {"default_transaction_isolation": "serializable"},
    {"default_transaction_isolation": "repeatable read"},
    {"row_security": "off"},
    {"transform_null_equals": "on", "array_nulls": "off", "quote_all_identifiers": "on"},
    {"datestyle": "German, DMY", "timezone": "Pacific/Kiritimati", "intervalstyle": "iso_8601"},
    {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"},
    {"from_collapse_limit": "1", "join_collapse_limit": "1", "enable_sort": "off", "work_mem": "64kB"},
    {"extra_float_digits": "-15", "client_min_messages": "error", "jit": "off", "parallel_setup_cost": "0"},
    {"dotq_plan.schema": "trap", "dotq_plan.xact": "1", "dotq_plan.functions": "{}"},
]

TRAPS = Path(__file__).with_name("traps.sql")


def rung(admin: Connection) -> tuple[int, int]:
    """How often a trap went off, and how often with somebody else's rights."""
    row = admin.execute(
        "select coalesce(pg_sequence_last_value('trap.bell'), 0),"
        " coalesce(pg_sequence_last_value('trap.owner_bell'), 0)"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


@contextmanager
def attacker(db: Database, role: str) -> Iterator[Connection]:
    """A login that has laid its traps."""
    admin = db.connect()
    with login(db, role) as conn:
        admin.execute(
            sql.SQL("grant create, temporary on database {} to {}").format(
                sql.Identifier(db.name), sql.Identifier(conn.info.user)
            )
        )
        conn.execute(TRAPS.read_bytes())
        made = str(conn.execute("select current_setting('trap.made')").fetchall()[0][0]).split()
        functions, operators, relations, types = (int(count) for count in made)
        assert functions > 100, made
        assert operators > 100, made
        assert relations > 40, made
        assert types > 10, made
        yield conn


def calls(admin: Connection, world: World, role: str) -> dict[str, sql.Composed]:
    """Everything the role may call."""
    found = public_functions(admin)
    return {
        name: call(name, world.arguments(function)) for name, function in found.items() if may(FUNCTIONS, name, role)
    }


@pytest.mark.parametrize("role", ROLES)
def test_no_code_of_the_caller_runs_with_the_rights_of_the_owner(db: Database, role: str) -> None:
    admin = db.connect()
    world = build(admin)
    before = checksums(admin)
    with attacker(db, role) as conn:
        allowed = calls(admin, world, role)
        assert len(allowed) > 5
        for settings in SETTINGS:
            found = {name: outcome(conn, query, **settings) for name, query in allowed.items()}
            wrong = {name: state for name, state in found.items() if state != "ok"}
            assert wrong == {}, f"a call did not work as usual with {settings}"
            assert rung(admin)[1] == 0, f"code of the caller ran as the owner with {settings}"
        for view in (
            "v_kind",
            "v_config",
            "v_queue_health",
            "v_queue_status",
            "v_job_stuck",
            "v_worker_fleet",
        ):
            for settings in SETTINGS:
                assert outcome(conn, f"table dotq.{view}", **settings) in {"ok", "42501"}
        assert rung(admin)[1] == 0
        assert checksums(admin) == before, "a call that was rolled back left something behind"


@pytest.mark.parametrize("body", ["select btrim('x') from pg_catalog.pg_class limit 1", "select key from dot_config"])
def test_the_traps_do_ring_in_a_function_that_is_not_pinned(db: Database, body: str) -> None:
    """The control: without these, the attack above could pass for want of bite."""
    admin = db.connect()
    build(admin)
    admin.execute("set check_function_bodies = off")
    admin.execute(
        f"create function public.careless() returns setof text language sql security definer as $${body}$$".encode()
    )
    admin.execute("alter function public.careless() owner to dotq_owner")
    with attacker(db, "dotq_reader") as conn:
        state = outcome(conn, "select * from public.careless()", search_path="trap, pg_temp, pg_catalog")
        assert rung(admin)[1] > 0, state


@pytest.mark.parametrize("role", ["dotq_producer", "dotq_worker", "dotq_operator"])
def test_a_closed_gate_stays_closed_whatever_the_caller_prepares(db: Database, role: str) -> None:
    admin = db.connect()
    world = build(admin)
    admin.execute("select dotq.fn_config_set('queue.job_substrate.enabled', 'false', 'tests')")
    gated = {"fn_job_enqueue", "fn_job_ack", "fn_job_fail_or_retry"}
    gated |= {"fn_dead_letter_replay", "fn_dead_letter_replay_many"}
    with attacker(db, role) as conn:
        allowed = calls(admin, world, role)
        before = checksums(admin)
        for settings in SETTINGS:
            found = {name: outcome(conn, query, **settings) for name, query in allowed.items() if name in gated}
            assert set(found.values()) == {"JQ001"}, f"{settings}: {found}"
        if role != "dotq_producer":
            for path in ("trap, pg_temp, pg_catalog", "pg_temp"):
                conn.execute("select set_config('search_path', %s, false)", [path])
                assert conn.execute(allowed["fn_job_claim_many"]).fetchall() == []
                assert conn.execute(allowed["fn_queue_reap"]).fetchall()[0][0]["reaped"] == 0
        assert rung(admin)[1] == 0
        assert checksums(admin) == before


def test_strict_session_checks_harm_only_their_own_session(db: Database) -> None:
    """plpgsql.extra_errors makes functions of this session stricter; others go on, nothing is half done."""
    admin = db.connect()
    world = build(admin)
    before = checksums(admin)
    with login(db, "dotq_operator") as conn:
        conn.execute("set plpgsql.extra_errors = 'all'")
        for query in calls(admin, world, "dotq_operator").values():
            outcome(conn, query)
    assert checksums(admin) == before
    for query in calls(admin, world, "dotq_operator").values():
        assert outcome(admin, query) == "ok"
