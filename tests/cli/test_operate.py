"""gate, config, kind, worker, health, backlog, stuck, recent, reap, fsck and errors."""

from __future__ import annotations

import json
from pathlib import Path

from cli.support import Cli
from harness.databases import Database


def test_gates_are_closed_after_install_and_opened_by_short_names(bare_db: Database, tmp_path: Path) -> None:
    cli = Cli(bare_db.dsn, str(tmp_path))
    gates = {row["key"]: row["effective"] for row in cli.json("gate", "list")}
    assert gates["queue.job_substrate.enabled"] == "false"
    assert "job_substrate  closed" in cli.ok("gate", "list").out
    assert "[JQ001]" in cli.refused(5, "enqueue", "report")
    changes = cli.json("--actor", "ann", "gate", "open", "job_substrate", "queue.worker.enabled")
    assert [(row["key"], row["old_value"], row["value"]) for row in changes] == [
        ("queue.job_substrate.enabled", "false", "true"),
        ("queue.worker.enabled", "false", "true"),
    ]
    cli.ok("enqueue", "report")
    cli.ok("gate", "close", "job_substrate")
    assert "[JQ001]" in cli.refused(5, "enqueue", "report")


def test_one_unknown_gate_leaves_all_as_they_were(cli: Cli) -> None:
    assert "job_substrate" in cli.refused(4, "gate", "close", "claim", "kitchen")
    assert cli.ok("config", "get", "queue.claim.enabled").out == "true\n"
    cli.refused(4, "gate", "open", "queue.kind.strict")
    cli.refused(2, "gate", "open")


def test_settings_are_read_changed_and_written_down(cli: Cli) -> None:
    key = "queue.lease.duration_sec"
    change = cli.json("--actor", "ann", "config", "set", key, "600")
    assert change == {"key": key, "old_value": "300", "value": "600"}
    assert cli.ok("config", "get", key).out == "600\n"
    assert cli.json("config", "get", key)["updated_by"] == "ann"
    assert key in {row["key"] for row in cli.json("config", "list")}
    assert key in cli.ok("config", "list").out
    audit = cli.json("config", "audit", "--key", key, "--limit", "1")
    assert [(row["old_value"], row["new_value"], row["changed_by"]) for row in audit] == [("300", "600", "ann")]
    assert "ann" in cli.ok("config", "audit").out
    assert "[22023]" in cli.refused(2, "config", "set", key, "soon")
    assert "[JQ011]" in cli.refused(4, "config", "set", "queue.nothing", "1")
    cli.refused(4, "config", "get", "queue.nothing")


def test_a_setting_that_cannot_be_read_stands_out(cli: Cli, db: Database) -> None:
    db.connect().execute("update dotq.dot_config set value = 'maybe' where key = 'queue.claim.enabled'")
    assert "unreadable: 'maybe'" in cli.ok("config", "list").out
    assert cli.ok("config", "get", "queue.claim.enabled").out == "false\n"


def test_kinds_are_set_shown_and_listed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text('{"max_attempts": 2, "payload_schema": {"type": "object"}}')
    made = cli.json("kind", "set", "report", f"@{tmp_path}/policy.json", "-P", "backoff_strategy=fixed")
    assert (made["max_attempts"], made["backoff_strategy"]) == (2, "fixed")
    assert cli.json("kind", "show", "report")["payload_schema"] == {"type": "object"}
    assert [row["job_kind"] for row in cli.json("kind", "list")] == ["report"]
    assert "fixed" in cli.ok("kind", "list").out
    assert "[22023]" in cli.refused(2, "kind", "set", "report", "-P", "max_attempts=3")
    assert "[22023]" in cli.refused(2, "kind", "set", "report", "[1]")
    assert "which policies" in cli.refused(2, "kind", "set", "report")
    assert "[JQ005]" in cli.refused(4, "kind", "show", "nothing")


def test_a_kind_is_paused_and_resumed(cli: Cli) -> None:
    cli.enqueue()
    paused = cli.json("kind", "pause", "report", "--for", "1h", "--reason", "upstream")
    assert (paused["paused"], paused["reason"]) == (True, "upstream")
    assert paused["until"]
    assert cli.json("claim") is None
    assert "upstream" in cli.ok("kind", "list").out
    assert cli.json("kind", "pause", "report", "--until", "2050-01-01T00:00Z")["until"].startswith("2050-01-01")
    assert "[22023]" in cli.refused(2, "kind", "pause", "report", "--until", "2020-01-01T00:00Z")
    cli.refused(2, "kind", "pause", "report", "--until", "2050-01-01T00:00Z", "--for", "1h")
    assert cli.json("kind", "resume", "report")["was_paused"] is True
    assert cli.claim()
    assert "[JQ005]" in cli.refused(4, "kind", "pause", "nothing")
    assert "[JQ005]" in cli.refused(4, "kind", "resume", "nothing")


def test_workers_are_listed(cli: Cli, db: Database) -> None:
    assert cli.ok("worker", "list").err == "no workers\n"
    db.connect().execute("select dotq.fn_worker_register('w1', 'host', 4, p_kinds => array['report'])")
    cli.enqueue()
    cli.claim()
    rows = cli.json("worker", "list")
    assert [(row["worker_id"], row["status"], row["leases_held"], row["kinds"]) for row in rows] == [
        ("w1", "fresh", 1, ["report"])
    ]
    assert cli.ok("worker", "list").out.splitlines()[1].split()[:2] == ["w1", "fresh"]


def test_health_has_a_verdict_reasons_and_a_code_for_monitors(cli: Cli, db: Database) -> None:
    assert cli.ok("health", "--check").out.startswith("ok\n")
    cli.bury()
    conn = db.connect()
    conn.execute("select dotq.fn_queue_heartbeat_tick('exec-1', 'PG_worker')")
    found = cli.run("health", "--check", "--json")
    assert found.code == 10
    assert found.json["verdict"] == "warning"
    assert found.json["reasons"] == ["dead letters that wait for triage: 1"]
    assert [row["executor_name"] for row in found.json["executors"]] == ["exec-1"]
    assert [(row["job_kind"], row["state"], row["row_count"]) for row in found.json["backlog"]] == [
        ("report", "failed", 1)
    ]
    text = cli.ok("health").out
    assert text.splitlines()[:2] == ["warning", "  dead letters that wait for triage: 1"]
    assert "exec-1" in text
    conn.execute("select dotq.fn_dead_letter_triage(dead_letter_id, 'escalated', 'ann') from dotq.job_dead_letter")
    critical = cli.run("-q", "health", "--check")
    assert (critical.code, critical.out) == (20, "critical\n")
    heading, values = cli.ok("health", "--format", "csv").out.splitlines()
    assert heading.startswith("verdict,reasons,ready_count")
    assert values.startswith("critical,")


def test_health_is_shown_again_and_again(cli: Cli) -> None:
    ran = cli.ok("health", "--watch", "0.1", "--count", "3", "--format", "jsonl")
    assert [json.loads(line)["verdict"] for line in ran.out.splitlines()] == ["ok"] * 3
    assert cli.ok("health", "--watch", "0.1", "--count", "2").out.count("ready 0") == 2
    cli.refused(2, "health", "--watch", "1", "--json")
    cli.refused(2, "health", "--watch", "1", "--check")
    cli.refused(2, "health", "--count", "1")


def test_the_backlog_is_counted(cli: Cli) -> None:
    assert cli.ok("backlog").err == "no jobs\n"
    cli.enqueue()
    cli.enqueue()
    cli.enqueue("other")
    counts = {row["job_kind"]: row["row_count"] for row in cli.json("backlog")}
    assert counts == {"report": 2, "other": 1}
    assert len(cli.json("backlog", "--kind", "other", "--state", "queued")) == 1
    assert cli.ok("backlog", "--kind", "report").out.splitlines()[1].split()[:3] == ["report", "queued", "2"]


def test_stuck_jobs_are_listed_and_taken_back(cli: Cli, db: Database) -> None:
    assert cli.ok("stuck").err == "no stuck jobs\n"
    job_id = cli.enqueue()
    cli.claim()
    db.connect().execute("update dotq.job_queue set lease_until = now() - interval '1 hour'")
    assert [row["job_id"] for row in cli.json("stuck")] == [job_id]
    assert "lease ran out" in cli.ok("stuck").out
    assert cli.json("reap", "--limit", "10")["reaped"] == 1
    assert cli.json("reap")["reaped"] == 0
    assert "[22023]" in cli.refused(2, "reap", "--limit", "0")
    cli.ok("gate", "close", "job_substrate")
    assert cli.json("reap")["reason"].startswith("gate_closed")


def test_ended_jobs_are_listed(cli: Cli) -> None:
    assert cli.json("recent") == []
    job_id, _ = cli.bury()
    assert [row["job_id"] for row in cli.json("recent", "--kind", "report", "--state", "failed")] == [job_id]
    assert cli.ok("-q", "recent").out.split() == [job_id]
    assert cli.ok("recent").out.splitlines()[1].split()[:3] == [job_id, "report", "failed"]


def test_fsck_leaves_with_1_when_something_is_unsound(cli: Cli, db: Database) -> None:
    assert cli.ok("fsck").err == "sound\n"
    db.connect().execute("update dotq.dot_config set value = 'maybe' where key = 'queue.claim.enabled'")
    ran = cli.run("fsck", "--json")
    assert (ran.code, [row["subject"] for row in ran.json]) == (1, ["queue.claim.enabled"])
    assert "queue.claim.enabled" in cli.run("fsck").out


def test_error_codes_are_explained(cli: Cli) -> None:
    assert cli.json("errors", "JQ003")["name"] == "lease_lost"
    assert cli.json("errors", "jq003")["name"] == "lease_lost"
    assert "JQ003" in {row["code"] for row in cli.json("errors")}
    assert "lease_lost" in cli.ok("errors").out
    cli.refused(4, "errors", "XX000")
