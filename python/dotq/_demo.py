"""The tour that `make demo` gives: every line it prints comes from a real call to a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dotq._migrate import migrate

SCHEMA = "dotq_demo"

_SCHEMA_IS_OURS = """
    select r.rolname = 'dotq_owner'
        and to_regclass(%s || '.schema_release') is not null
        and not exists (select from pg_class as c where c.relnamespace = n.oid and c.relowner <> n.nspowner)
    from pg_namespace as n
    join pg_roles as r on r.oid = n.nspowner
    where n.nspname = %s
"""


class DemoFailed(Exception):
    """A step did not end as the story says it must."""


class Demo:
    """Plays the story on one database, in a schema of its own that is made anew each time."""

    def __init__(self, connection: psycopg.Connection[Any], console: Console) -> None:
        self._connection = connection
        self._cursor = psycopg.ClientCursor(connection, row_factory=dict_row)
        self._console = console
        self._step = 0

    def play(self) -> None:
        """Tell the whole story; raises DemoFailed at the first thing that is not as told."""
        self._install()
        report = self._enqueue()
        self._work(report)
        self._retry()
        self._crash()
        letter = self._bury()
        self._triage(letter)
        self._health()

    def _install(self) -> None:
        self._title("Install the queue: tables, functions and views, in one transaction")
        self._make_room()
        done = migrate(self._connection, schema=SCHEMA)
        self._note(
            f"{len(done.applied)} migrations applied into the schema {SCHEMA}. "
            "Every gate is closed: nothing works until you open it."
        )
        self._refused("select fn_job_enqueue('report', 'demo')", "JQ001")
        for gate in ("queue.job_substrate.enabled", "queue.heartbeat.enabled"):
            self._call("select fn_config_set(%(gate)s, 'true', 'demo')", gate=gate)

    def _make_room(self) -> None:
        """Drop what an earlier demo left; a schema that holds anything else is somebody's and stays."""
        row = self._connection.execute(_SCHEMA_IS_OURS, [SCHEMA, SCHEMA]).fetchone()
        if row is None:
            return
        if not row[0]:
            raise DemoFailed(f"the schema {SCHEMA} is there and was not made by a demo; nothing was changed")
        self._connection.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(SCHEMA)))

    def _enqueue(self) -> str:
        self._title("Enqueue: one job, the same job again, and one for later")
        first = self._call("""select fn_job_enqueue('report', 'demo', 'report-42', '{"month": "2026-10"}')""")
        again = self._call("""select fn_job_enqueue('report', 'demo', 'report-42', '{"month": "2026-10"}')""")
        self._expect(again["duplicate"] and again["job_id"] == first["job_id"], "the same key gives the same job")
        self._note("The key report-42 is taken while its job is active: the second call found the first job.")
        self._call("select fn_job_enqueue('report', 'demo', p_scheduled_at => now() + interval '1 hour')")
        self._note("A payload may not have keys that hold secrets or bulk, at any depth:")
        self._refused(
            """select fn_job_enqueue('report', 'demo', p_payload_json => '{"db": {"Password": "x"}}')""",
            "22023",
        )
        return str(first["job_id"])

    def _work(self, job_id: str) -> None:
        self._title("Work: claim, heartbeat, ack")
        job = self._claim("worker-1", "report")
        self._expect(job["job_id"] == job_id, "the job that is due is claimed, the later one is not")
        self._call(
            """select fn_job_heartbeat(%(job)s, %(lease)s, p_progress => '{"percent": 50}')""",
            job=job_id,
            lease=job["lease"],
        )
        self._call("""select fn_job_ack(%(job)s, %(lease)s, '{"pages": 12}')""", job=job_id, lease=job["lease"])
        nothing = self._call("select fn_job_claim('worker-1', p_allowed_kinds => array['report'])")
        self._expect(nothing["job"] is None, "nothing else is due")

    def _retry(self) -> None:
        self._title("A job that fails once and is retried")
        self._call(
            """select fn_kind_set('sync', '{"backoff_strategy": "fixed", "backoff_base_sec": 1}', 'demo')""",
            show=False,
        )
        self._call("select fn_job_enqueue('sync', 'demo')")
        job = self._claim("worker-1", "sync")
        failed = self._call(
            "select fn_job_fail_or_retry(%(job)s, %(lease)s, 'HTTP 503 from the upstream')",
            job=job["job_id"],
            lease=job["lease"],
        )
        self._expect(failed["state"] == "retry_waiting", "the failed job waits for its next attempt")
        self._note("Why is it not running now?")
        self._rows("select place, blocker, detail from fn_job_explain(%(job)s)", job=job["job_id"])
        again = self._wait_for("worker-1", "sync")
        self._expect(again["attempts"] == 2, "the second attempt is counted")
        self._call("select fn_job_ack(%(job)s, %(lease)s)", job=again["job_id"], lease=again["lease"])

    def _crash(self) -> None:
        self._title("A worker that dies: its job comes back, and the dead worker cannot finish it")
        self._call("select fn_job_enqueue('import', 'demo')")
        lost = self._claim("worker-1", "import", lease_seconds=1)
        self._note("worker-1 is killed here. Its lease of one second runs out …")
        back = self._wait_for("worker-2", "import")
        self._expect(back["job_id"] == lost["job_id"], "worker-2 gets the job that worker-1 left behind")
        self._note("worker-1 comes back to life and reports success. Too late: its lease is not current.")
        self._refused("select fn_job_ack(%(job)s, %(lease)s)", "JQ003", job=lost["job_id"], lease=lost["lease"])
        self._call("select fn_job_ack(%(job)s, %(lease)s)", job=back["job_id"], lease=back["lease"])

    def _bury(self) -> str:
        self._title("A job that can only fail ends as a dead letter, not in silence")
        self._call("select fn_job_enqueue('invoice', 'demo', 'invoice-7', p_max_attempts => 1)")
        job = self._claim("worker-1", "invoice")
        dead = self._call(
            "select fn_job_fail_or_retry(%(job)s, %(lease)s, 'customer 7 has no address')",
            job=job["job_id"],
            lease=job["lease"],
        )
        self._expect(dead["state"] == "dead_letter", "without attempts left the job becomes a dead letter")
        self._rows("select task_type, error_message, attempts, triage_status from v_dead_letter_triage")
        return str(dead["dead_letter_id"])

    def _triage(self, letter: str) -> None:
        self._title("Triage and replay")
        self._call("select fn_dead_letter_triage(%(letter)s, 'acknowledged', 'demo', 'address added')", letter=letter)
        replay = self._call("select fn_dead_letter_replay(%(letter)s, 'demo')", letter=letter)
        job = self._claim("worker-1", "invoice")
        self._expect(
            job["job_id"] == replay["job_id"] and job["replay_of"] is not None,
            "the replay is a new job that names the old one",
        )
        self._call("select fn_job_ack(%(job)s, %(lease)s)", job=job["job_id"], lease=job["lease"])

    def _health(self) -> None:
        self._title("Is it healthy?")
        self._call("select fn_queue_heartbeat_tick('worker-1', 'Agent')")
        self._rows(
            "select executor_name, freshness, queued_count as queued, succeeded_count as succeeded, "
            "dead_letter_pending_count as dead_pending from v_queue_health"
        )
        status = self._rows("select verdict, reasons, ready_count, delayed_count, running_count from v_queue_status")
        self._expect(status[0]["verdict"] == "ok", "the queue is healthy")
        unsound = self._rows(
            "select * from fn_queue_fsck()", empty="fn_queue_fsck() found nothing: every invariant holds."
        )
        self._expect(not unsound, "every invariant holds")

    def _claim(self, worker: str, kind: str, lease_seconds: int | None = None) -> dict[str, Any]:
        answer = self._call(
            "select fn_job_claim(%(worker)s, %(lease_seconds)s, array[%(kind)s])",
            pick=_claimed,
            worker=worker,
            lease_seconds=lease_seconds,
            kind=kind,
        )
        self._expect(answer["job"] is not None, f"{worker} gets a job of the kind {kind}")
        return dict(answer["job"])

    def _wait_for(self, worker: str, kind: str) -> dict[str, Any]:
        for _ in range(100):
            answer = self._call(
                "select fn_job_claim(%(worker)s, p_allowed_kinds => array[%(kind)s])",
                show=False,
                worker=worker,
                kind=kind,
            )
            if answer["job"] is not None:
                self._print_call(
                    self._text(
                        "select fn_job_claim(%(worker)s, p_allowed_kinds => array[%(kind)s])",
                        {"worker": worker, "kind": kind},
                    ),
                    _claimed(answer),
                )
                return dict(answer["job"])
            time.sleep(0.1)
        raise DemoFailed(f"{worker} did not get a job of the kind {kind} within 10 seconds")

    def _text(self, statement: str, arguments: Mapping[str, object]) -> str:
        """The statement with its arguments and its schema in place: paste it into psql and it runs."""
        text = self._cursor.mogrify(statement, arguments) if arguments else statement
        for prefix in ("fn_", "v_"):
            text = text.replace(f" {prefix}", f" {SCHEMA}.{prefix}")
        return text

    def _call(self, statement: str, *, show: bool = True, pick: Any = None, **arguments: object) -> dict[str, Any]:
        text = self._text(statement, arguments)
        row = self._connection.execute(text.encode()).fetchone()
        answer: dict[str, Any] = row[0] if row else {}
        if show:
            self._print_call(text, pick(answer) if pick else answer)
        return answer

    def _refused(self, statement: str, sqlstate: str, **arguments: object) -> None:
        text = self._text(statement, arguments)
        try:
            self._connection.execute(text.encode())
        except psycopg.Error as error:
            if error.sqlstate != sqlstate:
                raise DemoFailed(f"expected {sqlstate}, got {error.sqlstate}: {error}") from error
            self._print_statement(text)
            self._console.print(Text(f"   ✗ {error.diag.message_primary} [{sqlstate}]", style="red"), soft_wrap=True)
            return
        raise DemoFailed(f"not refused: {text}")

    def _rows(self, statement: str, *, empty: str | None = None, **arguments: object) -> list[dict[str, Any]]:
        text = self._text(statement, arguments)
        rows = list(self._cursor.execute(text.encode()).fetchall())
        self._print_statement(text)
        if not rows and empty:
            self._console.print(Text(f"   {empty}", style="green"))
        if rows:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for name in rows[0]:
                table.add_column(name, style="green", header_style="dim")
            for row in rows:
                table.add_row(*("" if value is None else str(value) for value in row.values()))
            self._console.print(Padding(table, (0, 0, 0, 3)))
        return rows

    def _title(self, text: str) -> None:
        self._step += 1
        self._console.print()
        self._console.print(Text(f"{self._step}. {text}", style="bold"))

    def _note(self, text: str) -> None:
        self._console.print(Text(f"   {text}"), soft_wrap=True)

    def _print_statement(self, text: str) -> None:
        self._console.print(Text(f"   > {text};", style="cyan"), soft_wrap=True)

    def _print_call(self, text: str, answer: object) -> None:
        self._print_statement(text)
        self._console.print(Text(f"   {json.dumps(answer)}", style="green"), soft_wrap=True)

    def _expect(self, held: object, promise: str) -> None:
        if not held:
            raise DemoFailed(f"this did not hold: {promise}")


def _claimed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a claim that the story needs, so that a line stays readable."""
    job = answer["job"]
    shown = ("job_id", "job_kind", "attempts", "payload_json", "lease", "replay_of")
    return {
        "ok": answer["ok"],
        "job": job and {name: job[name] for name in shown if job[name] is not None},
        "reason": answer["reason"],
    }
