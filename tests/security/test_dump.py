"""Dumped and restored it is the same queue: rows, functions, rights, gates; no lease number comes twice."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from dotq._migrate import migrate, status
from harness.backends import Backend
from harness.databases import Database
from harness.world import build, checksums
from security.test_install import rights


def run(server: Backend, program: str, *arguments: str) -> None:
    """Run a client program of PostgreSQL; its complaints fail the test."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [str(server.bin(program)), *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def values(conn: psycopg.Connection[Any], query: str) -> list[Any]:
    return [row[0] for row in conn.execute(query.encode()).fetchall()]


@pytest.mark.parametrize("form", ["custom", "plain"])
def test_a_restored_queue_goes_on_where_the_dumped_one_stood(
    server: Backend, db: Database, empty_db: Database, tmp_path: Path, form: str
) -> None:
    old = db.connect()
    world = build(old)
    old.execute("select dotq.fn_config_set('queue.enqueue.enabled', 'false', 'tests')")
    old.execute("select dotq.fn_kind_pause('other', 'tests', 'for the dump')")
    file = str(tmp_path / "dump")
    run(server, "pg_dump", f"--format={form}", "--schema=dotq", f"--file={file}", "--dbname", db.dsn)
    if form == "custom":
        run(server, "pg_restore", "--exit-on-error", "--dbname", empty_db.dsn, file)
    else:
        run(
            server,
            "psql",
            "-X",
            "-q",
            "-o",
            os.devnull,
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            empty_db.dsn,
            "-f",
            file,
        )
    assert conninfo_to_dict(empty_db.dsn)["dbname"] != conninfo_to_dict(db.dsn)["dbname"]
    new = empty_db.connect()

    assert status(new).drifted == (), "the restored objects are not what was installed"
    assert checksums(new) == checksums(old)
    assert rights(new) == rights(old)
    bodies = "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'dotq'::regnamespace order by 1"
    assert values(new, bodies) == values(old, bodies)
    views = "select pg_get_viewdef(oid) from pg_class where relnamespace = 'dotq'::regnamespace order by relname"
    assert values(new, views) == values(old, views)
    triggers = "select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by 1"
    assert values(new, triggers) == values(old, triggers)
    assert values(new, "select count(*) from dotq.fn_queue_fsck()") == [0]
    gates = "select key || ' ' || effective from dotq.v_config where is_gate order by 1"
    assert values(new, gates) == values(old, gates)
    assert "queue.enqueue.enabled false" in values(new, gates)

    # The gate holds, an old lease counts in the new database, and new numbers are higher than all old ones.
    with pytest.raises(psycopg.Error) as caught:
        new.execute("select dotq.fn_job_enqueue('mail', 'tests')")
    assert caught.value.sqlstate == "JQ001"
    highest = values(new, "select max(lease_token) from dotq.job_queue")[0]
    old_numbers = values(old, "select last_value from dotq.lease_token_seq")[0]
    claimed = new.execute("select lease from dotq.fn_job_claim_many('w9', 1)").fetchall()
    assert len(claimed) == 1
    assert int(claimed[0][0].split("#")[1]) > max(highest, old_numbers)
    acked = values(new, f"select dotq.fn_job_ack('{world.leased}', '{world.lease}') ->> 'state'")
    assert acked == ["succeeded"]

    # It can be upgraded like any other.
    assert migrate(new).applied == ()
    assert status(new).state == "current"
