"""dotq enqueue."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from cli.support import Cli
from harness.databases import Database


def test_a_job_is_there_when_the_command_has_ended(cli: Cli, db: Database) -> None:
    answer = cli.json("--actor", "billing", "enqueue", "report", '{"month": "2026-10"}')
    assert list(answer) == ["job_id", "state", "duplicate"]
    assert (answer["state"], answer["duplicate"]) == ("queued", False)
    found = db.connect().execute("select job_id::text, actor, payload_json from dotq.job_queue").fetchone()
    assert found == (answer["job_id"], "billing", {"month": "2026-10"})


def test_the_table_shows_each_column_on_a_line(cli: Cli) -> None:
    names = [line.split()[0] for line in cli.ok("enqueue", "report").out.splitlines()]
    assert names == ["job_id", "state", "duplicate"]


def test_the_actor_is_user_at_host_unless_said(cli: Cli) -> None:
    assert "@" in cli.json("job", "show", cli.enqueue())["actor"]


def test_a_payload_comes_from_a_file_or_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "payload.json").write_text('{"from": "file é"}', encoding="utf-8")
    by_file = cli.enqueue("report", f"@{tmp_path}/payload.json")
    by_input = cli.json("enqueue", "report", "-", stdin='{"from": "input"}')["job_id"]
    assert cli.json("job", "show", by_file)["payload_json"] == {"from": "file é"}
    assert cli.json("job", "show", by_input)["payload_json"] == {"from": "input"}


def test_parameters_are_added_to_the_payload(cli: Cli) -> None:
    job = cli.enqueue("report", '{"a": 1, "b": 2}', "-P", "b=two=2", "-P", 'c:={"d": [null]}', "-P", "e=")
    assert cli.json("job", "show", job)["payload_json"] == {"a": 1, "b": "two=2", "c": {"d": [None]}, "e": ""}


def test_every_digit_of_a_number_arrives_and_comes_back(cli: Cli) -> None:
    digits = "12345678901234567890.12345678901234567890"
    plain = cli.enqueue("report", f'{{"n": {digits}, "m": 1.10}}')
    added = cli.enqueue("report", f'{{"n": {digits}}}', "-P", "m:=1.10")
    for job in (plain, added):
        shown = cli.ok("job", "show", job, "--json").out
        assert f'"n": {digits}' in shown
        assert '"m": 1.10' in shown
        assert f'"n": {digits}' in cli.ok("job", "show", job).out


WRONG = [
    (["{"], "not JSON"),
    (['{"a": NaN}'], "NaN"),
    (["@/does/not/exist"], "cannot read /does/not/exist"),
    (["-P", "novalue"], "name=text"),
    (["-P", "a:=nope"], "not JSON"),
    (["[1]", "-P", "a=1"], "JSON object"),
    (["--at", "2030-01-01T00:00"], "zone"),
    (["--at", "tomorrow"], "not a time"),
    (["--in", "soon"], "length of time"),
    (["--in", "5m", "--at", "2030-01-01T00:00Z"], "exclude each other"),
    (["--priority", "urgent"], "critical, high, normal, low"),
    (["--priority", "-1"], "priority"),
    (["--run-id", "x"], "not an id"),
    (["--max-attempts", "0"], "max_attempts"),
    (['{"db": {"Password": "x"}}'], "[22023]"),
    (["[1, 2]"], "[22023]"),
    (['{"a": "\\u0000"}'], "[22P05]"),
    (["--key", "a\0b"], "NUL"),
]


def test_a_wrong_value_leaves_with_2_and_names_it(cli: Cli) -> None:
    for words, problem in WRONG:
        assert problem in cli.refused(2, "enqueue", "report", *words)
    assert cli.json("job", "list") == []


def test_bytes_that_are_no_text_leave_with_2(cli: Cli) -> None:
    ran = cli.spawn("enqueue", b"caf\xe9".decode(errors="surrogateescape"))
    assert (ran.code, ran.out) == (2, "")
    assert "not valid text" in ran.err


def test_a_duplicate_is_a_success_unless_it_must_fail(cli: Cli) -> None:
    first = cli.enqueue("report", "--key", "k")
    again = cli.ok("enqueue", "report", "--key", "k", "--json")
    assert again.json == {"job_id": first, "state": "queued", "duplicate": True}
    assert "nothing was added" in again.err
    assert first in cli.refused(5, "enqueue", "report", "--key", "k", "--on-conflict", "fail")


def test_a_delay_is_counted_by_the_servers_clock(cli: Cli, db: Database) -> None:
    conn = db.connect()
    conn.execute(
        "create or replace function dotq.fn_clock_now() returns timestamptz language sql volatile"
        " set search_path = pg_catalog, pg_temp as $fn$ select timestamptz '2040-05-01 12:00Z' $fn$"
    )
    job = cli.enqueue("report", "--in", "1h30m")
    due = datetime.fromisoformat(cli.json("job", "show", job)["scheduled_at"])
    assert due == datetime.fromisoformat("2040-05-01T13:30+00:00")


def test_a_time_with_its_zone_is_the_same_everywhere(cli: Cli) -> None:
    for written in (
        "2031-05-01T12:00Z",
        "2031-05-01T14:00:00+02:00",
        "2031-05-01 14:00+02",
        "2031-05-01T13:30+0130",
        "2031-05-01T12:00:00.000000z",
    ):
        due = cli.json("job", "show", cli.enqueue("report", "--at", written))["scheduled_at"]
        assert due == "2031-05-01T12:00:00+00:00", written


def test_a_priority_is_a_name_or_a_number(cli: Cli) -> None:
    for given, number in (("critical", 0), ("high", 50), ("normal", 100), ("low", 200), ("7", 7)):
        assert cli.json("job", "show", cli.enqueue("report", "--priority", given))["priority"] == number


def test_everything_else_is_passed_on(cli: Cli) -> None:
    run = "0190a0b0-0000-7000-8000-000000000001"
    job = cli.enqueue(
        "report",
        "--max-attempts",
        9,
        "--source-ref",
        "s",
        "--target-ref",
        "t",
        "--payload-ref",
        "p",
        "--run-id",
        run,
    )
    shown = cli.json("job", "show", job)
    names = ("max_attempts", "source_ref", "target_ref", "payload_ref", "run_id")
    assert [shown[name] for name in names] == [9, "s", "t", "p", run]


def test_refusals_have_their_codes(cli: Cli) -> None:
    cli.ok("kind", "set", "strict", "-P", 'payload_schema:={"type": "object", "required": ["id"]}')
    assert "[JQ007]" in cli.refused(2, "enqueue", "strict", "{}")
    cli.ok("kind", "set", "off", "-P", "enabled:=false")
    assert "[JQ006]" in cli.refused(5, "enqueue", "off")
    cli.ok("config", "set", "queue.kind.strict", "true")
    assert "[JQ005]" in cli.refused(4, "enqueue", "unheard-of")
    cli.ok("gate", "close", "enqueue")
    refused = cli.refused(5, "enqueue", "strict")
    assert "[JQ001]" in refused
    assert "hint: " in refused
    assert "dotq gate open" in refused
