"""claim, start, heartbeat, ack, fail, release and cancel."""

from __future__ import annotations

import re

from cli.support import NO_ID, Cli
from harness.databases import Database


def test_a_job_goes_from_claim_to_ack(cli: Cli) -> None:
    job_id = cli.enqueue("report", '{"n": 1}')
    job = cli.claim()
    assert (job["job_id"], job["attempts"], job["payload_json"]) == (job_id, 1, {"n": 1})
    started = cli.json("start", job_id, "--lease", job["lease"])
    assert (started["state"], started["cancel_requested"]) == ("in_progress", False)
    words = ["--lease-seconds", 900, "--progress", '{"percent": 40}', "--checkpoint", '{"row": 7}']
    beat = cli.json("heartbeat", job_id, "--lease", job["lease"], *words)
    assert beat["lease_until"] > job["lease_until"]
    done = cli.json("ack", job_id, "--lease", job["lease"], "--result", '{"rows": 3}')
    assert done == {"job_id": job_id, "state": "succeeded", "duplicate": False}
    assert cli.json("ack", job_id, "--lease", job["lease"])["duplicate"] is True
    shown = cli.json("job", "show", job_id)
    assert (shown["progress"], shown["checkpoint"], shown["result"]) == (
        {"percent": 40},
        {"row": 7},
        {"rows": 3},
    )


def test_a_claim_in_a_table_says_how_to_go_on(cli: Cli) -> None:
    job_id = cli.enqueue()
    ran = cli.ok("claim", "--worker", "w1", "--lease", "60")
    lease = re.search(r"^lease +(w1#\d+)$", ran.out, re.MULTILINE)
    assert lease
    assert f"dotq ack {job_id} --lease '{lease[1]}'" in ran.err
    cli.ok("ack", job_id, "--lease", lease[1])


def test_a_worker_without_a_name_gets_one_of_its_own(cli: Cli) -> None:
    cli.enqueue()
    cli.enqueue()
    owners = {cli.json("claim")["lease"].split("#")[0] for _ in range(2)}
    assert len(owners) == 2
    assert all(re.fullmatch(r".+-\d+-[0-9a-f]{6}", owner) for owner in owners)


def test_several_are_claimed_as_a_list(cli: Cli) -> None:
    jobs = {cli.enqueue() for _ in range(3)}
    cli.enqueue("other")
    lines = cli.ok("claim", "--kind", "report", "--kind", "else", "--limit", 9, "--format", "jsonl").out.splitlines()
    assert len(lines) == 3
    assert all(any(job in line for job in jobs) for line in lines)
    assert cli.json("claim", "--limit", 9)[0]["job_kind"] == "other"


def test_jobs_bound_to_a_key_are_claimed_by_that_key(cli: Cli, db: Database) -> None:
    job_id = cli.enqueue()
    db.connect().execute("update dotq.job_queue set affinity_key = 'gpu'")
    assert cli.json("claim") is None
    assert cli.json("claim", "--affinity", "gpu")["job_id"] == job_id


def test_nothing_to_claim_is_no_error(cli: Cli) -> None:
    cli.enqueue("other")
    for words, out in (
        (["--json"], "null\n"),
        (["--format", "jsonl"], "null\n"),
        ([], ""),
        (["--limit", "5", "--json"], "[]\n"),
        (["--limit", "5", "--format", "jsonl"], ""),
        (["--limit", "5"], ""),
    ):
        ran = cli.ok("claim", "--kind", "report", *words)
        assert ran.out == out
        assert "no_kind" in ran.err
    cli.claim("other")
    assert "empty" in cli.ok("claim").err
    cli.ok("gate", "close", "claim")
    assert "gate_closed: queue.claim.enabled" in cli.ok("claim").err
    assert cli.ok("-q", "claim").err == ""


def test_a_failure_is_retried_or_ends(cli: Cli) -> None:
    job_id = cli.enqueue()
    job = cli.claim()
    again = cli.json("fail", job_id, "--lease", job["lease"], "--error", "HTTP 503")
    assert (again["state"], again["dead_letter_id"]) == ("retry_waiting", None)
    cli.ok("job", "reschedule", job_id)
    job = cli.claim()
    ended = cli.json("fail", job_id, "--lease", job["lease"], "--error", "HTTP 400", "--no-retry")
    assert ended["state"] == "failed"
    assert ended["dead_letter_id"]


def test_a_released_job_has_its_attempt_back(cli: Cli) -> None:
    job_id = cli.enqueue()
    job = cli.claim()
    assert cli.json("release", job_id, "--lease", job["lease"]) == {
        "job_id": job_id,
        "state": "queued",
        "attempts": 0,
    }


def test_lost_leases_and_unknown_jobs_have_their_codes(cli: Cli) -> None:
    job_id = cli.enqueue()
    cli.claim()
    for command, *more in (["start"], ["heartbeat"], ["ack"], ["fail", "--error", "x"], ["release"]):
        assert "[JQ003]" in cli.refused(5, command, job_id, "--lease", "w1#999999", *more)
        assert "[JQ002]" in cli.refused(4, command, NO_ID, "--lease", "w1#1", *more)
        assert "[22023]" in cli.refused(2, command, job_id, "--lease", "w1#x", *more)
        assert "not an id" in cli.refused(2, command, job_id[:8], "--lease", "w1#1", *more)
        assert "--lease" in cli.refused(2, command, job_id, *more)


def test_a_worker_learns_that_it_should_stop(cli: Cli) -> None:
    job_id = cli.enqueue()
    job = cli.claim()
    asked = cli.json("cancel", job_id, "--reason", "twice")
    assert [(row["state"], row["cancel_requested"]) for row in asked] == [("leased", True)]
    beat = cli.ok("heartbeat", job_id, "--lease", job["lease"], "--json")
    assert beat.json["cancel_requested"] is True
    assert "asked to cancel" in beat.err
    cli.ok("gate", "close", "claim")
    other = cli.enqueue("other")
    cli.ok("gate", "open", "claim")
    lease = cli.claim("other")["lease"]
    cli.ok("gate", "close", "claim")
    assert "draining" in cli.ok("heartbeat", other, "--lease", lease).err


def test_a_waiting_job_is_cancelled_at_once(cli: Cli) -> None:
    job_id = cli.enqueue()
    rows = cli.json("--actor", "ann", "cancel", job_id, "--reason", "sent twice")
    assert rows == [{"job_id": job_id, "state": "cancelled", "cancel_requested": False, "forced_at": None}]
    assert cli.json("job", "show", job_id)["last_error"] == "cancelled by ann: sent twice"
    assert "[JQ004]" in cli.refused(5, "cancel", job_id)
    assert "[JQ002]" in cli.refused(4, "cancel", NO_ID)


def test_several_are_cancelled_only_when_told_so(cli: Cli) -> None:
    jobs = [cli.enqueue() for _ in range(2)]
    assert "say --yes" in cli.refused(2, "cancel", *jobs)
    assert {row["state"] for row in cli.json("job", "list")} == {"queued"}
    assert cli.ok("-q", "cancel", "--yes", *jobs).out.split() == jobs


def test_one_refusal_does_not_stop_the_others(cli: Cli) -> None:
    first, last = cli.enqueue(), cli.enqueue()
    ran = cli.run("cancel", "--yes", "--json", first, NO_ID, last)
    assert ran.code == 7
    assert [row["job_id"] for row in ran.json] == [first, last]
    assert "[JQ002]" in ran.err
    assert "2 cancelled, 1 not" in ran.err
