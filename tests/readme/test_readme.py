"""What the README shows is run here, as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from dotq._demo import Demo, DemoFailed
from harness.backends import Backend
from harness.databases import Database

README = Path(__file__).resolve().parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def psql(server: Backend, database: Database, script: str) -> str:
    done = subprocess.run(
        [str(server.bin("psql")), "-X", "-At", "-v", "ON_ERROR_STOP=1", database.dsn],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_lines_of_psql_run_on_a_fresh_install(server: Backend, bare_db: Database) -> None:
    (script,) = blocks("sql")
    assert len(script.strip().splitlines()) == 6
    printed = psql(server, bare_db, script)
    assert '"state": "succeeded"' in printed
    assert printed.strip().splitlines()[-1] == "ok|{}|0"


def test_the_lines_of_python_commit_the_order_with_its_job(db: Database, tmp_path: Path) -> None:
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 8
    conn = db.connect()
    conn.execute("create table orders (id integer primary key, customer text)")
    program = tmp_path / "readme.py"
    program.write_text(code.replace("postgresql://localhost/shop", db.dsn), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["queued", "False"]
    assert conn.execute("select customer from orders").fetchall() == [("Ada",)]
    listed = conn.execute("select job_kind, idempotency_key, state from dotq.fn_job_list()").fetchall()
    assert listed == [("send_receipt", "order-42", "queued")]


@pytest.mark.parametrize("query", re.findall(r"`(select \* from dotq\.v_\w+)`", README.read_text(encoding="utf-8")))
def test_the_queries_for_operators_run(db: Database, query: str) -> None:
    assert db.connect().execute(query.encode()).description


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target


def test_nothing_is_left_to_fill_in() -> None:
    assert "@@" not in README.read_text(encoding="utf-8")


def test_the_demo_leaves_a_schema_alone_that_it_did_not_make(empty_db: Database) -> None:
    conn = empty_db.connect()
    conn.execute("create schema dotq_demo")
    conn.execute("create table dotq_demo.precious ()")
    with pytest.raises(DemoFailed, match="was not made by a demo"):
        Demo(conn, Console(quiet=True)).play()
    assert conn.execute("select to_regclass('dotq_demo.precious')::text").fetchone() == ("dotq_demo.precious",)


def test_the_demo_tells_its_story_twice(empty_db: Database) -> None:
    for _ in range(2):
        console = Console(record=True, width=200, quiet=True)
        Demo(empty_db.connect(), console).play()
