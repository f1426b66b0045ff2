"""Formats, widths, colours, streams: what is printed, and where."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import termios
import time
from datetime import datetime, timedelta, timezone

import click
import pytest
from rich.cells import cell_len

from cli.support import COMMAND, Cli
from dotq.cli._text import Column, clean, layout, relative, span


def on_terminal(cli: Cli, *words: object, answer: str = "", columns: int = 80) -> tuple[int, str]:
    """Run a command on a terminal of its own and answer its question: the exit code, and what appeared."""
    environment = cli.environment(TERM="xterm", COLUMNS="", LINES="")
    command = [*COMMAND, *[str(word) for word in words]]
    answered = not answer
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready = select.select([terminal], [], [], 0.5)[0]
        try:
            shown += os.read(terminal, 65536) if ready else b""
            # A Ctrl-C in the instant before Python reads its input waits for the next key: press again.
            if b"? [y/N]" in shown and (not answered or (answer == "\x03" and not ready)):
                os.write(terminal, answer.encode())
                answered = True
        except OSError:
            break
    else:
        os.kill(child, signal.SIGKILL)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, shown.decode().replace("\r\n", "\n")


def test_one_result_in_every_format(cli: Cli) -> None:
    job_id = cli.enqueue("report", '{"a": [1, "é"]}', "--key", 'a "quoted", key')
    as_json = cli.ok("job", "list", "--json").json
    by_lines = [json.loads(line) for line in cli.ok("job", "list", "--format", "jsonl").out.splitlines()]
    by_csv = list(csv.DictReader(io.StringIO(cli.ok("job", "list", "--format", "csv").out)))
    assert as_json == by_lines
    assert list(by_csv[0]) == list(as_json[0])
    assert (by_csv[0]["idempotency_key"], by_csv[0]["lease_owner"]) == ('a "quoted", key', "")
    one = list(csv.DictReader(io.StringIO(cli.ok("job", "show", job_id, "--format", "csv").out)))
    assert json.loads(one[0]["payload_json"]) == {"a": [1, "é"]}
    assert cli.ok("job", "show", job_id, "--format", "jsonl").out.count("\n") == 1


def test_global_options_stand_before_or_behind(cli: Cli) -> None:
    cli.enqueue()
    expected = cli.ok("--json", "job", "list").out
    assert cli.ok("job", "list", "--json").out == expected
    assert cli.ok("--format", "csv", "job", "list", "--format", "json").out == expected
    assert cli.ok("--dsn", "host=/nowhere", "job", "list", "-d", cli.env["DOTQ_DATABASE_URL"], "--json").out == expected
    assert "disagree" in cli.refused(2, "job", "list", "--json", "--format", "csv")
    actor = cli.json("enqueue", "report", "--actor", "ann")["job_id"]
    assert cli.json("job", "show", actor)["actor"] == "ann"


def test_every_option_has_a_name_in_the_environment(cli: Cli) -> None:
    cli.enqueue()
    cli.enqueue()
    as_json = cli.ok("job", "list", env={"DOTQ_FORMAT": "json", "DOTQ_JOB_LIST_LIMIT": "1"}).json
    assert len(as_json) == 1
    assert cli.ok("job", "list", "--format", "csv", env={"DOTQ_JSON": "1"}).out.startswith("job_id,")
    job = cli.ok("enqueue", "report", "--json", env={"DOTQ_ACTOR": "env", "DOTQ_ENQUEUE_PRIORITY": "high"}).json
    shown = cli.json("job", "show", job["job_id"])
    assert (shown["actor"], shown["priority"]) == ("env", 50)
    assert cli.ok("--version", env={"DOTQ_VERSION": "1"}).out.startswith("dotq ")
    assert cli.ok("job", "list", "--json", env={"DOTQ_VERSION": "1"}).out.startswith("[")


def test_80_columns_are_enough(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = "a-kind-with-a-rather-long-name-of-which-there-are-some"
    cli.bury(kind, error="an error that goes on and on " * 5)
    ids = [cli.enqueue(kind), cli.enqueue("報告")]
    cli.claim(kind)
    code, listed = on_terminal(cli, "job", "list")
    assert (code, all(job_id in listed for job_id in ids)) == (0, True)
    assert 70 < max(cell_len(click.unstyle(line)) for line in listed.splitlines()) <= 80
    monkeypatch.setattr("dotq.cli._output.width", lambda: 80)
    tables = "job list, dlq list, dlq groups, recent, gate list, kind list, config audit, config list, backlog"
    for words in [*tables.split(", "), "errors"]:
        lines = cli.ok(*words.split()).out.splitlines()
        assert len(lines) > 1, words
        assert max(cell_len(line) for line in lines) <= 80, (words, lines)


def test_colour_is_for_terminals_that_want_it(cli: Cli) -> None:
    cli.enqueue()
    assert "\x1b[" in on_terminal(cli, "job", "list")[1]
    assert "\x1b[" not in on_terminal(cli, "--no-color", "job", "list")[1]
    assert "\x1b[" not in on_terminal(cli, "job", "list", "--no-color")[1]
    cli.env["NO_COLOR"] = "1"
    assert "\x1b[" not in on_terminal(cli, "job", "list")[1]
    assert "\x1b[" not in cli.spawn("job", "list").out


def test_a_pipe_has_whole_lines(cli: Cli) -> None:
    error = "an error that goes on and on " * 5
    cli.bury(error=error)
    assert error.strip() in cli.spawn("dlq", "list", env={"COLUMNS": "40"}).out


def test_questions_are_asked_on_a_terminal(cli: Cli) -> None:
    jobs = [cli.enqueue(), cli.enqueue()]
    code, shown = on_terminal(cli, "cancel", *jobs, answer="n\n")
    assert (code, "Cancel 2 jobs?" in shown, "nothing was done" in shown) == (130, True, True)
    assert {row["state"] for row in cli.json("job", "list")} == {"queued"}
    assert on_terminal(cli, "cancel", *jobs, answer="\x03")[0] == 130
    assert on_terminal(cli, "cancel", *jobs, answer="y\n")[0] == 0
    assert {row["state"] for row in cli.json("job", "list")} == {"cancelled"}
    cli.bury()
    code, shown = on_terminal(cli, "dlq", "replay", "--all", answer="y\n")
    assert (code, "would_replay" in shown, "Replay 1 of 1 dead letters?" in shown) == (0, True, True)


def test_a_terminal_without_unicode_is_no_obstacle(cli: Cli) -> None:
    job_id = cli.enqueue("報告", '{"word": "é"}')
    for encoding in ("ascii", "latin-1"):
        env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        table = cli.spawn("job", "list", env=env)
        assert (table.code, r"\u5831\u544a" in table.out) == (0, True)
        shown = cli.spawn("job", "show", job_id, "--json", env=env)
        assert shown.json["payload_json"] == {"word": "é"}
        assert cli.spawn("job", "show", job_id, env=env).code == 0
        refused = cli.spawn("kind", "show", "報", env=env)
        assert (refused.code, r"\u5831" in refused.err) == (4, True)


def test_a_reader_that_goes_away_is_no_error(cli: Cli) -> None:
    for _ in range(3):
        cli.enqueue()
    for words in (["job", "list"], ["job", "list", "--format", "jsonl"], ["sql"]):
        reader, writer = os.pipe()
        os.close(reader)
        process = cli.start(*words, stdout=writer)
        os.close(writer)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, ""), words
    reader, writer = os.pipe()
    os.close(reader)
    cli.bury()
    process = cli.start("health", "--check", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (10, "")


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert clean("a\x1b[31mb\x07\x9bc\u202ed") == r"a\x1b[31mb\x07\x9bc\u202ed"
    assert clean("one\ntwo\tthree\r") == "one two three "
    assert clean("one\ntwo", lines=True) == "one\ntwo"
    assert clean("Grüße 報告 👩\u200d🚀") == "Grüße 報告 👩\u200d🚀"


def test_a_table_narrows_its_flexible_columns_first_and_then_drops_the_optional_ones() -> None:
    columns = [
        Column("id"),
        Column("kind", narrow=4),
        Column("error", narrow=6, optional=True),
        Column("n", right=True),
    ]
    rows = [["0123456789", "a-long-kind", "something broke", "7"]]
    whole = layout(columns, rows, None)
    assert whole[1] == ["0123456789", "a-long-kind", "something broke", "7"]
    assert layout(columns, rows, 30)[1] == ["0123456789", "a-lon…", "someth…", "7"]
    assert layout(columns, rows, 20)[1] == ["0123456789", "a-lo…", "7"]
    assert layout(columns, [["1", "a", "", "10"]], None) == [["id", "kind", " n"], ["1 ", "a   ", "10"]]


def test_wide_letters_are_counted_as_two() -> None:
    lines = layout([Column("kind", narrow=3), Column("n")], [["報告書報告書", "1"], ["abc", "2"]], 10)
    assert {cell_len(line[0]) for line in lines} == {7}


def test_spans_and_ages() -> None:
    assert [span(value) for value in (0, 0.25, 45, 99, 150, 7200, 172800)] == [
        "0s",
        "250ms",
        "45s",
        "99s",
        "2m",
        "2h",
        "2d",
    ]
    now = datetime(2030, 1, 1, tzinfo=timezone.utc)
    assert relative(now - timedelta(minutes=3), now) == "3m ago"
    assert relative(now + timedelta(hours=2), now) == "in 2h"
    assert (relative(now, now), relative(None, now)) == ("now", "")
