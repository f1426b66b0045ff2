"""Two leaders in one term must not exist, however the candidates come together."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from harness.databases import Database
from race.support import Connection, answer, at_once, blocked, call, one

# Every change of a leader's row is written down with the time of its lock, not of its commit.
HISTORY = """
create table public.leader_history (
    place bigint generated always as identity, duty text,
    old_worker text, old_term bigint, old_until timestamptz,
    worker text, term bigint, until timestamptz, at timestamptz default clock_timestamp()
);
create function public.leader_log() returns trigger language plpgsql as $fn$
begin
    insert into public.leader_history (duty, old_worker, old_term, old_until, worker, term, until)
    values (new.duty, old.worker_id, old.term, old.leader_until, new.worker_id, new.term, new.leader_until);
    return null;
end
$fn$;
create trigger leader_log after update on dotq.queue_leader for each row execute function public.leader_log();
grant insert on public.leader_history to dotq_owner;
"""


def acquire(conn: Connection, worker: str, seconds: int = 60) -> dict[str, object]:
    found: dict[str, object] = call(conn, "fn_leader_acquire", "sweep", worker, seconds)
    return found


@pytest.mark.parametrize("known", ["a new duty", "a duty that was led before"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_second_candidate_waits_and_then_sees_the_first(db: Database, known: str, end: str) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    term = 0
    if known != "a new duty":
        term = int(str(acquire(second, "w0")["term"]))
        call(second, "fn_worker_deregister", "w0")
    assert (acquire(first, "w1")["is_leader"], term) == (True, term)
    with blocked(db, second, lambda: acquire(second, "w2")) as late:
        first.commit() if end == "commit" else first.rollback()
    found = answer(late)
    winner = "w1" if end == "commit" else "w2"
    assert (found["is_leader"], found["leader"], found["term"]) == (winner == "w2", winner, term + 1)


def test_a_renewal_keeps_the_term_and_a_return_raises_it(db: Database) -> None:
    conn = db.connect()
    assert [acquire(conn, "w1")["term"] for _ in range(3)] == [1, 1, 1]
    conn.execute("update dotq.queue_leader set leader_until = now() - interval '1 second'")
    assert acquire(conn, "w1")["term"] == 2


def test_a_renewal_behind_a_takeover_has_lost(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    acquire(second, "w1")
    second.execute("update dotq.queue_leader set leader_until = now() - interval '1 second'")
    assert acquire(first, "w2")["is_leader"] is True
    with blocked(db, second, lambda: acquire(second, "w1")) as late:
        first.commit()
    found = answer(late)
    assert (found["is_leader"], found["leader"], found["term"]) == (False, "w2", 2)


def test_giving_up_behind_a_takeover_takes_nothing_from_the_new_leader(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    acquire(second, "w1")
    second.execute("update dotq.queue_leader set leader_until = now() - interval '1 second'")
    until = acquire(first, "w2")["leader_until"]
    with blocked(db, second, lambda: call(second, "fn_worker_deregister", "w1")) as late:
        first.commit()
    answer(late)
    assert acquire(second, "w3")["leader_until"] == until


def test_eight_candidates_hammering_one_duty_never_share_a_term(db: Database) -> None:
    admin = db.connect()
    admin.execute(HISTORY)

    def hammer(conn: Connection, number: int) -> list[tuple[int, str]]:
        rng, worker, won = random.Random(number), f"w{number}", []
        last = 0
        for _ in range(60):
            found = call(conn, "fn_leader_acquire", "sweep", worker, 1)
            assert found["term"] >= last, "a term was seen to fall"
            last = found["term"]
            if found["is_leader"]:
                assert found["leader"] == worker
                won.append((found["term"], worker))
                if rng.random() < 0.5:
                    call(conn, "fn_worker_deregister", worker)
            elif rng.random() < 0.2:
                conn.execute("update dotq.queue_leader set leader_until = clock_timestamp()")
        return won

    leaders = defaultdict(set)
    for won in at_once(db, 8, hammer):
        for term, worker in won:
            leaders[term].add(worker)
    assert len(leaders) > 20, "leadership hardly changed hands; the test proves nothing"
    assert len({worker for found in leaders.values() for worker in found}) > 1
    assert {term: found for term, found in leaders.items() if len(found) > 1} == {}
    assert sorted(leaders) == list(range(1, max(leaders) + 1)), "a term was skipped or used by nobody"
    changes = admin.execute(
        "select old_worker, old_term, old_until <= at, worker, term from public.leader_history order by place"
    ).fetchall()
    for old_worker, old_term, was_over, worker, term in changes:
        assert term in (old_term, old_term + 1)
        assert term == old_term + 1 or worker == old_worker, "a change of hands without a new term"
        assert term == old_term or was_over, "a takeover before the old leader's time was up"
    assert one(admin, "select term from dotq.queue_leader") == max(leaders)


def test_maintenance_from_many_workers_runs_once_and_nobody_waits(db: Database) -> None:
    found = at_once(db, 8, lambda conn, number: call(conn, "fn_queue_maintain", f"w{number}"))
    ran = [told for told in found if told["ran"]]
    assert [told["term"] for told in ran] == [1]
    # Who came while the leader was at it is not told who that is.
    assert {(told["leader"], told["term"]) for told in found} <= {(ran[0]["leader"], 1), (None, None)}
    first, second = db.connect(autocommit=False), db.connect()
    assert call(first, "fn_queue_maintain", ran[0]["leader"])["ran"] is True
    second.execute("set lock_timeout = '5s'")
    assert call(second, "fn_queue_maintain", "w9")["ran"] is False
