"""A valid call for every public function, by the catalogue, and a queue with some of everything in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from dotq._sqlfiles import sql_root

ROLES = ("dotq_producer", "dotq_worker", "dotq_operator", "dotq_reader")

# The parameters of every function that a run-time role may call, in order.
_PUBLIC = """
select p.proname, p.provolatile = 'v', coalesce(
    (
        select jsonb_agg(jsonb_build_array(a.name, format_type(a.type, null)) order by a.place)
        from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality
            as a (name, type, place)
        where a.place <= p.pronargs
    ), '[]')
from pg_proc as p
where p.pronamespace = 'dotq'::regnamespace
  and exists (
      select from aclexplode(p.proacl) as acl
      where acl.privilege_type = 'EXECUTE' and acl.grantee = any (%s::regrole[]::oid[])
  )
order by 1
"""


@dataclass(frozen=True)
class Function:
    """A public function: its name, whether it may write, its parameters with their types."""

    name: str
    writes: bool
    parameters: dict[str, str]


@dataclass(frozen=True)
class World:
    """What valid calls can point to."""

    waiting: str
    leased: str
    lease: str
    finished: str
    letter: str

    def arguments(self, function: Function) -> dict[str, Any]:
        """Arguments with which the function does its work, by the names of its parameters."""
        values: dict[str, Any] = {
            "p_actor": "tests", "p_affinity_keys": ["blue"], "p_after": None, "p_allowed_kinds": ["mail"],
            "p_checkpoint": '{"page": 2}', "p_current_job_id": self.leased, "p_dead_letter_id": self.letter,
            "p_dry_run": False, "p_duty": "sweep", "p_error": "no luck", "p_executor_kind": "PG_worker",
            "p_executor_name": "executor", "p_filter": '{"kind": "mail"}', "p_final_error": "enough",
            "p_hostname": "host", "p_idempotency_key": "another", "p_job_id": self.leased,
            "p_job_kind": "mail",
            "p_key": "queue.lease.duration_sec", "p_kind": "mail", "p_kinds": ["mail"],
            "p_lease": self.lease,
            "p_lease_owner": "w1", "p_lease_seconds": 60, "p_limit": 5, "p_max_attempts": 3,
            "p_metadata": '{"tag": "x"}', "p_moved_by": "tests", "p_note": "seen", "p_path": "$",
            "p_payload_json": '{"to": "x"}', "p_payload_ref": "s3://x", "p_policy": '{"max_attempts": 3}',
            "p_pool_size": 4, "p_priority": 10, "p_progress": '{"done": 1}', "p_reason": "because",
            "p_result": '{"sent": true}', "p_retryable": True, "p_root": None,
            "p_run_id": "00000000-0000-4000-8000-000000000001", "p_schema": '{"type": "object"}',
            "p_scheduled_at": "2001-01-01T00:00:00Z", "p_source_ref": "src", "p_states": ["queued"],
            "p_status": "ok",
            "p_target_ref": "dst", "p_threshold_seconds": 60, "p_until": "2999-01-01T00:00:00Z",
            "p_value": "300",
            "p_version": "1", "p_worker_id": "w2",
        }  # fmt: skip
        special: dict[str, dict[str, Any]] = {
            "fn_job_reschedule": {"p_job_id": self.waiting},
            "fn_job_list": {"p_key": None, "p_kind": None},
            "fn_dead_letter_triage": {"p_status": "acknowledged"},
            "fn_payload_problem": {"p_value": '{"to": "x"}'},
            "fn_config_boolean": {"p_key": "queue.claim.enabled"},
        }
        values |= special.get(function.name, {})
        missing = [name for name in function.parameters if name not in values]
        assert not missing, f"{function.name}: say in harness/world.py what a valid {missing} is"
        return {name: values[name] for name in function.parameters}


def public_names() -> list[str]:
    """The functions whose files grant them to somebody; known without a database."""
    files = sorted((sql_root() / "functions").rglob("fn_*.sql"))
    return [path.stem for path in files if re.search(r"^grant execute", path.read_text(), re.MULTILINE)]


def public_functions(conn: psycopg.Connection[Any]) -> dict[str, Function]:
    """The functions that the catalogue grants to somebody."""
    rows = conn.execute(_PUBLIC, [list(ROLES)]).fetchall()
    return {name: Function(name, writes, dict(parameters)) for name, writes, parameters in rows}


def build(conn: psycopg.Connection[Any]) -> World:
    """Jobs in several states, a dead letter, a worker, a leader, an executor; what is private says CANARY."""

    def value(query: str, *values: Any) -> Any:
        row = conn.execute(query.encode(), values).fetchone()
        assert row is not None
        return row[0]

    for gate in ("job_substrate", "heartbeat", "worker"):
        value("select dotq.fn_config_set(%s, 'true', 'tests')", f"queue.{gate}.enabled")
    value("select dotq.fn_kind_set('mail', '{\"description\": \"letters\"}', 'tests')")
    enqueue = "select dotq.fn_job_enqueue(%s, 'tests', %s, %s) ->> 'job_id'"
    ids = {name: value(enqueue, "mail", name, '{"to": "CANARY payload"}') for name in ("leased", "finished", "dead")}
    claimed = conn.execute("select job_id::text, lease from dotq.fn_job_claim_many('w1', 3, 3600)").fetchall()
    leases = dict(claimed)
    assert set(leases) == set(ids.values())
    value("select dotq.fn_job_heartbeat(%s, %s, null, %s, %s)", ids["leased"], leases[ids["leased"]],
          '{"note": "CANARY progress"}', '{"note": "CANARY checkpoint"}')  # fmt: skip
    value(
        "select dotq.fn_job_ack(%s, %s, %s)",
        ids["finished"],
        leases[ids["finished"]],
        '{"note": "CANARY result"}',
    )
    failed = "select dotq.fn_job_fail_or_retry(%s, %s, 'CANARY error', false) ->> 'dead_letter_id'"
    letter = value(failed, ids["dead"], leases[ids["dead"]])
    retried = value(enqueue, "other", "retried", '{"to": "CANARY payload"}')
    lease = value("select lease from dotq.fn_job_claim_many('w1', 1)")
    value("select dotq.fn_job_fail_or_retry(%s, %s, 'CANARY error')", retried, lease)
    waiting = value(enqueue, "mail", "waiting", '{"to": "CANARY payload"}')
    value("select dotq.fn_worker_register('w1', 'host', 4, p_metadata => '{\"note\": \"CANARY metadata\"}')")
    value("select dotq.fn_leader_acquire('sweep', 'w1')")
    value("select dotq.fn_queue_heartbeat_tick('executor', 'DOT', p_metadata => '{\"note\": \"CANARY metadata\"}')")
    return World(waiting, ids["leased"], leases[ids["leased"]], ids["finished"], letter)


def statement(function: Function) -> sql.Composed:
    """The call with every argument by name, each given as text and cast to its type."""
    arguments = [
        sql.SQL("{} => {}::{}").format(sql.Identifier(name), sql.Placeholder(name), sql.SQL(kind))
        for name, kind in function.parameters.items()
    ]
    return sql.SQL("select * from {}({})").format(sql.Identifier("dotq", function.name), sql.SQL(", ").join(arguments))


def checksums(conn: psycopg.Connection[Any]) -> dict[str, str]:
    """The contents of every table, as one sum each."""
    tables = conn.execute(
        "select relname from pg_class where relnamespace = 'dotq'::regnamespace and relkind in ('r', 'p') order by 1"
    ).fetchall()
    query = sql.SQL("select md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) from {} as t")
    found = {}
    for (name,) in tables:
        row = conn.execute(query.format(sql.Identifier("dotq", name))).fetchone()
        assert row is not None
        found[name] = row[0]
    return found
