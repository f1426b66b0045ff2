"""dotq job."""

from __future__ import annotations

from cli.support import NO_ID, Cli


def test_lists_are_filtered_and_paged_newest_first(cli: Cli) -> None:
    jobs = [cli.enqueue("report", "--key", f"k{number}") for number in range(3)]
    other = cli.enqueue("other")
    cli.ok("cancel", jobs[0])
    assert [row["job_id"] for row in cli.json("job", "list")] == [other, *reversed(jobs)]
    assert [row["job_id"] for row in cli.json("job", "list", "--kind", "other")] == [other]
    assert [row["job_id"] for row in cli.json("job", "list", "--key", "k1")] == [jobs[1]]
    states = cli.json("job", "list", "--state", "cancelled", "--state", "leased")
    assert [row["job_id"] for row in states] == [jobs[0]]
    assert cli.ok("-q", "job", "list", "--limit", "2").out.split() == [other, jobs[2]]
    assert cli.ok("-q", "job", "list", "--after", jobs[2]).out.split() == [jobs[1], jobs[0]]
    assert "not a state" in cli.refused(2, "job", "list", "--state", "sleeping")
    assert "[22023]" in cli.refused(2, "job", "list", "--limit", "0")


def test_the_table_has_whole_ids(cli: Cli) -> None:
    job_id = cli.enqueue()
    heading, line = cli.ok("job", "list").out.splitlines()
    assert heading.split()[:3] == ["job_id", "kind", "state"]
    assert line.split()[:4] == [job_id, "report", "queued", "0/5"]


def test_no_jobs_is_an_empty_list_and_a_word_on_stderr(cli: Cli) -> None:
    for words, out in ((["--json"], "[]\n"), (["--format", "jsonl"], ""), ([], "")):
        ran = cli.ok("job", "list", *words)
        assert (ran.out, ran.err) == (out, "no jobs\n")
    assert cli.ok("job", "list", "--format", "csv").out.startswith("job_id,job_kind,state,")


def test_one_job_is_shown_whole(cli: Cli) -> None:
    job_id = cli.enqueue("report", '{"a": {"b": 1}}')
    shown = cli.json("job", "show", job_id)
    assert (shown["job_id"], shown["payload_json"], shown["lease"]) == (job_id, {"a": {"b": 1}}, None)
    text = cli.ok("job", "show", job_id).out
    assert '"b": 1' in text
    assert "lease_owner" not in text
    assert "[JQ002]" in cli.refused(4, "job", "show", NO_ID)


def test_a_job_says_why_it_does_not_run(cli: Cli) -> None:
    job_id = cli.enqueue()
    cli.ok("kind", "pause", "report", "--reason", "upstream is down")
    blockers = [row["blocker"] for row in cli.json("job", "explain", job_id)]
    text = cli.ok("job", "explain", job_id).out
    assert blockers[0].startswith("kind_paused")
    assert text.startswith(f"1. {blockers[0]}: ")
    assert "select dotq.fn_kind_resume('report'" in text
    assert "[JQ002]" in cli.refused(4, "job", "explain", NO_ID)


def test_the_life_of_a_job_in_order(cli: Cli) -> None:
    job_id, _ = cli.bury()
    events = [row["event"] for row in cli.json("job", "timeline", job_id)]
    assert events == ["enqueued", "claimed", "failed", "became a dead letter"]
    assert "attempt 1 of 5" in cli.ok("job", "timeline", job_id).out
    assert "[JQ002]" in cli.refused(4, "job", "timeline", NO_ID)


def test_a_waiting_job_is_moved(cli: Cli) -> None:
    job_id = cli.enqueue("report", "--in", "2h")
    assert cli.json("claim") is None
    later = cli.json("job", "reschedule", job_id, "--at", "2050-01-01T00:00Z", "--priority", "low")
    assert (later["scheduled_at"], later["priority"]) == ("2050-01-01T00:00:00+00:00", 200)
    assert cli.json("job", "reschedule", job_id, "--in", "1s")["scheduled_at"] < "2050"
    cli.ok("job", "reschedule", job_id)
    assert cli.claim()["job_id"] == job_id
    assert "[JQ004]" in cli.refused(5, "job", "reschedule", job_id)
    cli.refused(2, "job", "reschedule", job_id, "--in", "1s", "--at", "2050-01-01T00:00Z")


def test_a_job_is_buried_whoever_holds_it(cli: Cli) -> None:
    job_id = cli.enqueue()
    cli.claim()
    buried = cli.json("--actor", "ann", "job", "bury", job_id, "--error", "not needed")
    assert buried["state"] == "dead_letter"
    letter = cli.json("dlq", "show", buried["dead_letter_id"])
    assert (letter["error_message"], letter["moved_by"]) == ("not needed", "ann")
    assert "[JQ004]" in cli.refused(5, "job", "bury", job_id, "--error", "again")
