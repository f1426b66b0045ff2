"""What goes wrong, in one line and with its exit code."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cli.support import Cli
from dotq._errors import BY_SQLSTATE
from dotq._migrate import migrate
from dotq.cli._common import exit_code, mask
from harness.databases import Database, wait_blocked, wait_for

USAGE, MISSING, REFUSED, BEHIND = 2, 4, 5, 6
CODES = {
    **dict.fromkeys(("22023", "JQ007"), USAGE),
    **dict.fromkeys(("JQ002", "JQ005", "JQ008", "JQ011"), MISSING),
    **dict.fromkeys(("JQ001", "JQ003", "JQ004", "JQ006", "JQ009", "JQ010", "JQ014"), REFUSED),
    **dict.fromkeys(("JQ012", "JQ013"), BEHIND),
}


def test_every_code_of_dotq_has_its_exit_code() -> None:
    assert {code: exit_code(code) for code in BY_SQLSTATE} == CODES
    assert [exit_code(code) for code in ("42501", "57014", "42883", "08006", "XX000", None)] == [
        5,
        8,
        6,
        3,
        1,
        1,
    ]


def test_nothing_says_where_the_database_is(nowhere: Cli) -> None:
    refused = nowhere.refused(3, "health")
    assert "no database" in refused
    assert "hint: " in refused


def test_the_database_is_found_in_the_order_that_is_written_down(cli: Cli, db: Database) -> None:
    wrong = "host=/nowhere dbname=x"
    cli.env["DOTQ_DATABASE_URL"] = None
    parts = conninfo_to_dict(db.dsn)
    variables = {"PGHOST": str(parts["host"]), "PGPORT": str(parts["port"]), "PGDATABASE": db.name}
    variables["PGUSER"] = str(parts["user"])
    cli.ok("health", env={**variables, "PGPASSWORD": str(parts.get("password") or "")})
    cli.ok("health", env={"PGHOST": "/nowhere", "DATABASE_URL": db.dsn})
    cli.ok("health", env={"DATABASE_URL": wrong, "DOTQ_DATABASE_URL": db.dsn})
    cli.ok("-d", db.dsn, "health", env={"DOTQ_DATABASE_URL": wrong})
    cli.ok("health", env={"DOTQ_DSN": db.dsn, "DOTQ_DATABASE_URL": wrong})


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://joe:s3cret@127.0.0.1:1/x",
        "host=127.0.0.1 port=1 user=joe password=s3cret",
        "host=127.0.0.1 port=1 password='s3cret",
        "postgresql://joe:s3cret@127.0.0.1:port/x",
        "s3cret",
    ],
)
def test_a_password_is_never_printed(nowhere: Cli, dsn: str) -> None:
    for words in (["health"], ["-vv", "health"]):
        ran = nowhere.run("-d", dsn, *words)
        assert ran.code == 3
        assert "s3cret" not in ran.out + ran.err
        assert ran.err.startswith("dotq: ")


def test_masks() -> None:
    assert mask("postgresql://joe:p@host/x?password=q&x=1") == "postgresql://joe:****@host/x?password=****&x=1"
    assert mask("host=h password='a b' user=u") == "host=h password=**** user=u"
    assert mask("login failed for hunter2", "password=hunter2") == "login failed for ****"
    assert mask("postgresql://joe@host/x") == "postgresql://joe@host/x"


def test_a_database_that_is_not_there(cli: Cli, db: Database) -> None:
    gone = cli.refused(3, "-d", make_conninfo(db.dsn, dbname="no_such_database"), "health")
    assert "cannot connect: " in gone
    assert '"no_such_database" does not exist' in gone


def test_dotq_is_not_installed(empty_db: Database, tmp_path: Path) -> None:
    cli = Cli(empty_db.dsn, str(tmp_path))
    for words in (["health"], ["enqueue", "report"], ["job", "list"], ["gate", "list"]):
        refused = cli.refused(6, *words)
        assert "run `dotq migrate`" in refused
    assert "dotq --schema jobs migrate" in cli.refused(6, "--schema", "jobs", "health")
    cli.refused(2, "--schema", "pg_jobs", "health")


def test_another_schema(empty_db: Database, tmp_path: Path) -> None:
    migrate(empty_db.connect(), schema="jobs")
    cli = Cli(empty_db.dsn, str(tmp_path))
    cli.ok("gate", "open", "job_substrate", "--schema", "jobs")
    job_id = cli.ok("-q", "--schema", "jobs", "enqueue", "report").out.strip()
    assert cli.ok("job", "list", "--json", env={"DOTQ_SCHEMA": "jobs"}).json[0]["job_id"] == job_id


def test_no_permission(cli: Cli, db: Database) -> None:
    conn = db.connect()
    role = f"reader_{db.name}"
    conn.execute(sql.SQL("create role {} login in role dotq_reader").format(sql.Identifier(role)))
    try:
        conn.execute(sql.SQL("alter role {} password 'x'").format(sql.Identifier(role)))
        reader = Cli(make_conninfo(db.dsn, user=role, password="x"), str(cli.env["DOTQ_HOME"]))
        reader.ok("health")
        assert "[42501]" in reader.refused(5, "enqueue", "report")
        assert "[42501]" in reader.refused(5, "gate", "close", "claim")
    finally:
        conn.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_a_statement_that_takes_too_long(cli: Cli, db: Database) -> None:
    job_id = cli.enqueue()
    with db.connect(autocommit=False) as holder:
        holder.execute("select from dotq.job_queue for update")
        refused = cli.refused(8, "--timeout", "0.1", "cancel", job_id)
        assert "[57014]" in refused
        assert "--timeout is 0.1 s" in refused
        holder.rollback()
    assert cli.json("job", "show", job_id)["state"] == "queued"


def _pid(watcher: psycopg.Connection, command: str) -> int:
    """The session of a command, once it waits for another one."""

    def found() -> list[tuple[int]]:
        return watcher.execute(
            "select pid from pg_stat_activity where application_name = %s and datname = current_database()"
            " and cardinality(pg_blocking_pids(pid)) > 0",
            [f"dotq-{command}"],
        ).fetchall()

    wait_for(found, f"dotq {command} to wait")
    return found()[0][0]


def test_an_interrupt_ends_it_with_130_and_changes_nothing(cli: Cli, db: Database) -> None:
    job_id = cli.enqueue()
    holder, watcher = db.connect(autocommit=False), db.connect()
    holder.execute("select from dotq.job_queue for update")
    process = cli.start("--timeout", "0", "cancel", job_id)
    wait_blocked(watcher, _pid(watcher, "cancel"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    holder.rollback()
    assert (process.returncode, out, err) == (130, "", "dotq: interrupted\n")
    assert cli.json("job", "show", job_id)["state"] == "queued"


def test_a_lost_connection_ends_a_bulk_and_what_was_done_is_printed(cli: Cli, db: Database) -> None:
    first, second, third = cli.enqueue(), cli.enqueue(), cli.enqueue()
    holder, watcher = db.connect(autocommit=False), db.connect()
    holder.execute("select from dotq.job_queue where job_id = %s for update", [second])
    process = cli.start("cancel", "--yes", "-q", first, second, third)
    watcher.execute("select pg_terminate_backend(%s)", [_pid(watcher, "cancel")])
    out, err = process.communicate(timeout=60)
    holder.rollback()
    assert (process.returncode, out.split()) == (7, [first])
    assert "[57P01]" in err
    states = {row["job_id"]: row["state"] for row in cli.json("job", "list")}
    assert states == {first: "cancelled", second: "queued", third: "queued"}


def test_a_watch_outlives_its_connection_and_ends_with_ctrl_c(cli: Cli, db: Database) -> None:
    watcher = db.connect()
    process = cli.start("health", "--watch", "0.1", "--format", "jsonl")
    assert process.stdout is not None
    assert '"verdict": "ok"' in process.stdout.readline()
    watcher.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dotq-health'")
    for _ in range(20):
        assert '"verdict": "ok"' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "dotq: interrupted"


def test_a_traceback_only_when_asked_for_twice(cli: Cli) -> None:
    words = ["kind", "show", "nothing"]
    assert "Traceback" not in cli.run("-v", *words).err
    assert "connected to" in cli.run("-v", *words).err
    very = cli.run("-vv", *words)
    assert (very.code, "Traceback" in very.err, "[JQ005]" in very.err) == (4, True, True)


def test_an_empty_dsn_is_not_taken_for_another_database(cli: Cli) -> None:
    assert "--dsn is empty" in cli.refused(2, "--dsn", "", "job", "list")
