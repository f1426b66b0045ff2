"""`dotq migrate` and `dotq sql` as a person or a pipeline uses them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from dotq._migrate import release_version, render
from dotq.cli import main
from harness.backends import Backend
from harness.databases import Database
from migrate.support import psql


def dotq(database: Database | None, *arguments: str) -> Result:
    """Run one command in this process."""
    dsn = ("--dsn", database.dsn) if database else ()
    return CliRunner().invoke(main, [*dsn, *arguments], catch_exceptions=False)


def test_migrate_then_again_then_status(empty_db: Database) -> None:
    first = dotq(empty_db, "migrate")
    assert first.exit_code == 0
    assert "applied 0001_job_substrate (" in first.output
    assert f"schema dotq has dotq {release_version()} (" in first.output
    second = dotq(empty_db, "migrate")
    assert second.exit_code == 0
    assert "0001_job_substrate" not in second.output
    assert "already there" in second.output
    shown = dotq(empty_db, "migrate", "--status")
    assert shown.exit_code == 0
    assert "functions and views: current" in shown.output
    assert "schema dotq: current" in shown.output


def test_status_of_a_database_without_dotq_leaves_with_6(empty_db: Database) -> None:
    shown = dotq(empty_db, "migrate", "--status")
    assert shown.exit_code == 6
    assert "schema dotq is missing" in shown.stderr
    assert "dotq migrate" in shown.stderr
    found = dotq(empty_db, "migrate", "--status", "--json")
    assert found.exit_code == 6
    assert json.loads(found.stdout)["state"] == "missing"


def test_a_change_by_hand_leaves_with_6_and_is_named(empty_db: Database) -> None:
    dotq(empty_db, "migrate")
    empty_db.connect().execute("alter table dotq.job_queue add column spy text")
    shown = dotq(empty_db, "migrate", "--status")
    assert shown.exit_code == 6
    assert "changed by hand: table job_queue" in shown.output


def test_a_function_of_somebody_else_leaves_with_6_and_is_named(empty_db: Database) -> None:
    dotq(empty_db, "migrate")
    empty_db.connect().execute("create function dotq.fn_job_get(text) returns text return $1")
    shown = dotq(empty_db, "migrate", "--status")
    assert shown.exit_code == 6
    assert "changed by hand: foreign function fn_job_get(text) of " in shown.output
    refused = dotq(empty_db, "migrate")
    assert refused.exit_code == 5
    assert "hint: Run: drop routine dotq.fn_job_get(text);" in refused.stderr


def test_an_edited_migration_leaves_with_6(empty_db: Database) -> None:
    dotq(empty_db, "migrate")
    empty_db.connect().execute("update dotq.schema_migration set checksum = 'other' where version = 1")
    for arguments in (("--status",), (), ("--dry-run",)):
        assert dotq(empty_db, "migrate", *arguments).exit_code == 6
    refusal = dotq(empty_db, "migrate").stderr
    assert refusal.splitlines()[0] == ("dotq: edited after it was applied to this database: 0001_job_substrate [JQ012]")


def test_dry_run_says_that_it_did_it_and_took_it_back(empty_db: Database) -> None:
    shown = dotq(empty_db, "migrate", "--dry-run")
    assert shown.exit_code == 0
    assert "would apply 0001_job_substrate" in shown.output
    assert shown.output.splitlines()[-1] == ("dry run: everything above was run, worked, and was rolled back")
    assert dotq(empty_db, "migrate", "--status").exit_code == 6


def test_json_reports_what_was_done(empty_db: Database) -> None:
    for arguments in (("--json", "migrate"), ("migrate", "--json")):
        report = json.loads(dotq(empty_db, *arguments, "--dry-run").stdout)
        assert report["dry_run"] is True
        assert report["applied"][0]["name"] == "0001_job_substrate"
        assert report["functions"] > 50
    dotq(empty_db, "migrate")
    found = json.loads(dotq(empty_db, "migrate", "--status", "--json").stdout)
    assert (found["state"], found["migrations"][0]["state"]) == ("current", "applied")


def test_the_commands_own_schema_option_wins(empty_db: Database) -> None:
    assert dotq(empty_db, "--schema", "one", "migrate").exit_code == 0
    assert dotq(empty_db, "--schema", "one", "migrate", "--schema", "two").exit_code == 0
    names = empty_db.connect().execute(
        "select nspname from pg_namespace where nspowner = 'dotq_owner'::regrole order by 1"
    )
    assert names.fetchall() == [("one",), ("two",)]


def test_sql_needs_no_database_and_pipes_into_psql(server: Backend, empty_db: Database) -> None:
    printed = dotq(None, "sql", "--schema", "My Schema")
    assert printed.exit_code == 0
    assert printed.output == render("My Schema")
    done = psql(server, empty_db.dsn, printed.output, "-v", "ON_ERROR_STOP=1", "-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert dotq(empty_db, "--schema", "My Schema", "migrate", "--status").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("migrate", "--schema", "pg_mine"),
        ("migrate", "--schema", ""),
        ("--schema", "information_schema", "migrate", "--status"),
        ("sql", "--schema", "x" * 64),
        ("migrate", "--lock-timeout", "soon"),
        ("migrate", "--wait", "5 s; drop"),
        ("migrate", "--dry-run", "--status"),
    ],
)
def test_what_cannot_be_meant_leaves_with_2(arguments: tuple[str, ...]) -> None:
    assert dotq(None, *arguments).exit_code == 2


def test_refusals_leave_with_their_own_codes(empty_db: Database) -> None:
    connection = empty_db.connect()
    connection.execute("grant create on schema public to public")
    refused = dotq(empty_db, "migrate", "--schema", "public")
    assert refused.exit_code == 5
    assert "hint: Run: revoke create on schema public from public;" in refused.stderr
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(1685025905, 0)")
        waited = dotq(empty_db, "migrate", "--wait", "50ms")
    assert waited.exit_code == 8
    assert waited.stderr.startswith("dotq: another dotq migration is still running in this database (waited 50ms)")


def test_no_server_leaves_with_3() -> None:
    gone = CliRunner().invoke(main, ["--dsn", "host=/nonexistent dbname=x", "migrate"])
    assert gone.exit_code == 3
