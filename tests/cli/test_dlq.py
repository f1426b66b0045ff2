"""dotq dlq."""

from __future__ import annotations

from cli.support import NO_ID, Cli


def test_letters_are_listed_grouped_and_shown(cli: Cli) -> None:
    first = cli.bury("report", error="HTTP 503 for order 17")[1]
    second = cli.bury("report", error="HTTP 503 for order 18")[1]
    other = cli.bury("sync", error="no such table")[1]
    assert [row["dead_letter_id"] for row in cli.json("dlq", "list")] == [other, second, first]
    assert cli.ok("-q", "dlq", "list", "--limit", "1").out.split() == [other]
    groups = {row["job_kind"]: row for row in cli.json("dlq", "groups")}
    assert (groups["report"]["row_count"], groups["sync"]["open_count"]) == (2, 1)
    print_of = groups["report"]["error_fingerprint"]
    assert len(cli.json("dlq", "list", "--fingerprint", print_of)) == 2
    assert len(cli.json("dlq", "list", "--kind", "sync", "--status", "pending", "--cause", "not_retryable")) == 1
    assert cli.json("dlq", "list", "--status", "closed") == []
    assert "HTTP 503" in cli.ok("dlq", "groups").out
    shown = cli.json("dlq", "show", other)
    assert (shown["task_type"], shown["error_message"]) == ("sync", "no such table")
    assert "dead_letter_id" in cli.refused(4, "dlq", "show", NO_ID)


def test_no_letters(cli: Cli) -> None:
    assert cli.ok("dlq", "list").err == "no dead letters\n"
    assert cli.json("dlq", "groups") == []
    assert cli.ok("dlq", "replay", "--all", "--yes").err == "no open dead letters match\n"
    assert cli.ok("dlq", "replay", "--all", "--json").json == []


def test_a_decision_is_recorded(cli: Cli) -> None:
    letter = cli.bury()[1]
    rows = cli.json("--actor", "ann", "dlq", "triage", letter, "--status", "acknowledged", "--note", "looking")
    assert [(row["old_status"], row["status"]) for row in rows] == [("pending", "acknowledged")]
    shown = cli.json("dlq", "show", letter)
    assert (shown["triaged_by"], shown["triage_note"]) == ("ann", "looking")
    assert "[22023]" in cli.refused(2, "dlq", "triage", letter, "--status", "fine")
    assert "[JQ008]" in cli.refused(4, "dlq", "triage", NO_ID, "--status", "closed")


def test_several_decisions_need_a_word_and_may_be_done_in_part(cli: Cli) -> None:
    letter = cli.bury()[1]
    cli.refused(2, "dlq", "triage", letter, NO_ID, "--status", "closed")
    ran = cli.run("dlq", "triage", letter, NO_ID, "--status", "closed", "--yes", "--json")
    assert (ran.code, len(ran.json)) == (7, 1)


def test_a_letter_is_replayed_by_id(cli: Cli) -> None:
    job_id, letter = cli.bury("report", "--key", "k")
    rows = cli.json("dlq", "replay", letter)
    assert [(row["dead_letter_id"], row["replay_of"]) for row in rows] == [(letter, job_id)]
    assert cli.json("job", "show", rows[0]["job_id"])["replay_of"] == job_id
    assert "[JQ010]" in cli.refused(5, "dlq", "replay", letter)
    cli.ok("dlq", "triage", letter, "--status", "acknowledged")
    assert "[JQ009]" in cli.refused(5, "dlq", "replay", letter)
    assert "[JQ008]" in cli.refused(4, "dlq", "replay", NO_ID)
    ran = cli.run("dlq", "replay", cli.bury("other")[1], NO_ID, "--yes")
    assert ran.code == 7


def test_a_filter_shows_first_and_acts_when_told_so(cli: Cli) -> None:
    letters = [cli.bury()[1] for _ in range(3)]
    cli.bury("other")
    preview = cli.json("dlq", "replay", "--kind", "report", "--limit", "2", "--dry-run")
    assert [(row["dead_letter_id"], row["outcome"]) for row in preview] == [
        (letters[0], "would_replay"),
        (letters[1], "would_replay"),
    ]
    assert "replay 3 of 3" in cli.refused(2, "dlq", "replay", "--kind", "report")
    assert cli.json("job", "list", "--state", "queued") == []
    done = cli.json("dlq", "replay", "--kind", "report", "--limit", "2", "--yes")
    assert [row["outcome"] for row in done] == ["replayed", "replayed"]
    waiting = {row["job_id"] for row in cli.json("job", "list", "--state", "queued")}
    assert waiting == {row["job_id"] for row in done}
    rest = cli.ok("dlq", "replay", "--all", "--yes")
    assert "2 replayed, 0 not" in rest.err


def test_a_filter_that_is_done_in_part_or_not_at_all(cli: Cli) -> None:
    cli.bury("report", "--key", "taken")
    cli.enqueue("report", "--key", "taken")
    none = cli.run("dlq", "replay", "--kind", "report", "--yes", "--json")
    assert (none.code, [row["outcome"] for row in none.json]) == (5, ["key_taken"])
    cli.bury("other")
    some = cli.run("dlq", "replay", "--status", "pending", "--yes", "--json")
    assert (some.code, sorted(row["outcome"] for row in some.json)) == (7, ["key_taken", "replayed"])


def test_replay_wants_ids_or_filters(cli: Cli) -> None:
    assert "which dead letters" in cli.refused(2, "dlq", "replay")
    assert "not both" in cli.refused(2, "dlq", "replay", NO_ID, "--kind", "report")
    assert "not both" in cli.refused(2, "dlq", "replay", NO_ID, "--dry-run")
    cli.ok("gate", "close", "enqueue")
    assert "[JQ001]" in cli.refused(5, "dlq", "replay", "--all", "--yes")
