"""A random history over several connections, then the books are checked: nothing lost, nothing doubled.

The seed is printed; DOTQ_TEST_SEED repeats a run's choices.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
import pytest

from harness.databases import Database
from race.support import Connection, T, at_once, call, job, one, rows_of, sound

WORKERS, STEPS = 6, 90

# The published state machine: what may follow what. A state also follows itself (heartbeat, reschedule).
FOLLOWS = {
    "queued": {"leased", "cancelled", "dead_letter"},
    "retry_waiting": {"leased", "cancelled", "dead_letter"},
    "leased": {"in_progress", "succeeded", "failed", "retry_waiting", "queued", "dead_letter", "cancelled"},
    "in_progress": {"succeeded", "failed", "retry_waiting", "queued", "dead_letter", "cancelled"},
}
TERMINAL = {"succeeded", "failed", "dead_letter", "cancelled"}

# Answers that are right in a race: the lease was lost, the job has ended, the letter or its key was taken.
EXPECTED = {"JQ003", "JQ004", "JQ009", "JQ010"}

LOG = """
create table public.transition (
    place bigint generated always as identity, job_id uuid, old_state text, new_state text,
    old_attempts integer, new_attempts integer, old_token bigint, new_token bigint
);
grant insert on public.transition to dotq_owner;
create function public.transition_log() returns trigger language plpgsql as $fn$
begin
    insert into public.transition
        (job_id, old_state, new_state, old_attempts, new_attempts, old_token, new_token)
    values (new.job_id, old.state, new.state, old.attempts, new.attempts, old.lease_token, new.lease_token);
    return null;
end
$fn$;
create trigger transition_log after insert or update on dotq.job_queue
    for each row execute function public.transition_log();
"""


@dataclass
class Books:
    """What callers were told and committed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    enqueued: list[str] = field(default_factory=list)
    acked: list[str] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)


class Worker:
    """One connection that does random things; what it is told enters the books only when it commits."""

    def __init__(self, conn: Connection, number: int, seed: int, books: Books) -> None:
        self.conn = conn
        self.name = f"w{number % 3}"  # two connections share a worker id: only the token tells them apart
        self.rng = random.Random(seed * 1000 + number)
        self.books = books
        self.held: list[tuple[str, str]] = []
        self.told: list[Callable[[], None]] = []

    def run(self) -> None:
        steps = {"enqueue": 30, "claim": 30, "ack": 14, "fail": 10, "heartbeat": 4, "start": 4, "release": 4}
        steps |= {"cancel": 4, "expire": 5, "reap": 5, "replay": 4, "bury": 2, "reschedule": 3, "maintain": 2}
        for name in self.rng.choices(list(steps), list(steps.values()), k=STEPS):
            self.told = []
            undo = self.rng.random() < 0.2
            try:
                with self.conn.transaction(force_rollback=undo):
                    getattr(self, name)()
            except psycopg.Error as error:
                assert error.sqlstate in EXPECTED, f"{name}: {error.sqlstate}: {error}"
                with self.books.lock:
                    self.books.refusals[error.sqlstate or ""] += 1
                continue
            with self.books.lock:
                self.books.steps[name + (" undone" if undo else "")] += 1
                if not undo:
                    for enter in self.told:
                        enter()

    def tell(self, book: list[T], entry: T) -> None:
        self.told.append(lambda: book.append(entry))

    def any_lease(self) -> tuple[str, str] | None:
        """Mostly a held one; it may be long lost, which is the point."""
        return self.rng.choice(self.held) if self.held else None

    def any_job(self, condition: str = "true") -> str | None:
        query = f"select job_id::text from dotq.job_queue where {condition}"
        rows = self.conn.execute(query.encode()).fetchall()
        return str(self.rng.choice(rows)[0]) if rows else None

    def enqueue(self) -> None:
        key = self.rng.choice([None, None, "a", "b", "c"])
        kind = self.rng.choice(["active", "retained", "once"])
        attempts = self.rng.choice([None, 1, 2])
        found = call(self.conn, "fn_job_enqueue", kind, self.name, key, p_max_attempts=attempts)
        if not found["duplicate"]:
            self.tell(self.books.enqueued, found["job_id"])

    def claim(self) -> None:
        wanted = self.rng.choice([1, 1, 2, 5])
        rows = rows_of(self.conn, "fn_job_claim_many", self.name, wanted)
        assert len(rows) <= wanted
        self.held += [(str(row[0]), row[5]) for row in rows]

    def ack(self) -> None:
        if held := self.any_lease():
            found = call(self.conn, "fn_job_ack", *held)
            if not found["duplicate"]:
                self.tell(self.books.acked, held[0])

    def fail(self) -> None:
        if held := self.any_lease():
            found = call(self.conn, "fn_job_fail_or_retry", *held, "no luck", self.rng.random() < 0.8)
            if found["state"] in TERMINAL:
                self.tell(self.books.ended, (held[0], found["state"]))

    def heartbeat(self) -> None:
        if held := self.any_lease():
            call(self.conn, "fn_job_heartbeat", *held, 300, {"done": 1})

    def start(self) -> None:
        if held := self.any_lease():
            call(self.conn, "fn_job_start", *held)

    def release(self) -> None:
        if held := self.any_lease():
            found = call(self.conn, "fn_job_release", *held)
            if found["state"] in TERMINAL:
                self.tell(self.books.ended, (held[0], found["state"]))

    def cancel(self) -> None:
        if job_id := self.any_job():
            found = call(self.conn, "fn_job_cancel", job_id, self.name)
            if not found["cancel_requested"]:
                self.tell(self.books.ended, (job_id, "cancelled"))

    def bury(self) -> None:
        if job_id := self.any_job():
            call(self.conn, "fn_job_move_to_dead_letter", job_id, "enough", self.name)
            self.tell(self.books.ended, (job_id, "dead_letter"))

    def reschedule(self) -> None:
        if job_id := self.any_job("state in ('queued', 'retry_waiting')"):
            call(self.conn, "fn_job_reschedule", job_id, self.name, p_priority=self.rng.randrange(200))

    def expire(self) -> None:
        self.conn.execute(
            "update dotq.job_queue set lease_until = now() - interval '1 second' where job_id in "
            "(select job_id from dotq.job_queue where lease_owner is not null for update skip locked limit 3)"
        )

    def reap(self) -> None:
        call(self.conn, "fn_queue_reap", self.rng.choice([1, 100]))

    def maintain(self) -> None:
        call(self.conn, "fn_queue_maintain", self.name)

    def replay(self) -> None:
        if self.rng.random() < 0.3:
            for row in rows_of(self.conn, "fn_dead_letter_replay_many", {}, self.name, 2, False):
                if row[3] == "replayed":
                    self.tell(self.books.enqueued, str(row[4]))
            return
        rows = self.conn.execute("select dead_letter_id from dotq.job_dead_letter").fetchall()
        if rows:
            found = call(self.conn, "fn_dead_letter_replay", self.rng.choice(rows)[0], self.name)
            self.tell(self.books.enqueued, found["job_id"])


def drain(conn: Connection, books: Books) -> None:
    """Let every lease run out and every wait be over, and finish all that is left."""
    conn.execute("update dotq.job_queue set lease_until = now() where lease_owner is not null")
    while call(conn, "fn_queue_reap", 100)["reaped"]:
        pass
    conn.execute("update dotq.job_queue set scheduled_at = now() where state in ('queued', 'retry_waiting')")
    while rows := rows_of(conn, "fn_job_claim_many", "last", 50):
        for row in rows:
            assert call(conn, "fn_job_ack", row[0], row[5])["duplicate"] is False
            books.acked.append(str(row[0]))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_after_any_history_every_job_has_ended_once(db: Database, number: int) -> None:
    seed = int(os.environ.get("DOTQ_TEST_SEED") or random.SystemRandom().randrange(10**6)) + number
    print(f"DOTQ_TEST_SEED={seed - number}")
    admin, books = db.connect(), Books()
    admin.execute(LOG)
    call(admin, "fn_config_set", "queue.retry.backoff_base_sec", "0", "tests")
    call(admin, "fn_config_set", "queue.cancel.grace_sec", "0", "tests")
    call(admin, "fn_kind_set", "active", {}, "tests")
    call(admin, "fn_kind_set", "retained", {"dedupe": "retained", "crash_limit": 2}, "tests")
    call(admin, "fn_kind_set", "once", {"on_crash": "hold"}, "tests")

    at_once(db, WORKERS, lambda conn, n: Worker(conn, n, seed, books).run())
    sound(admin)
    drain(admin, books)
    sound(admin)

    print(dict(books.steps), dict(books.refusals))
    assert len(books.steps) > 20, "the history did too little to prove anything"

    # Every enqueue that was answered and committed is there, once, and nothing else is.
    kept = [str(row[0]) for row in admin.execute("select job_id from dotq.job_queue").fetchall()]
    assert sorted(kept) == sorted(books.enqueued)
    assert one(admin, "select count(*) from dotq.job_queue where state <> all (%s)", sorted(TERMINAL)) == 0
    assert one(admin, "select count(*) from dotq.job_queue where attempts > max_attempts") == 0

    # What callers were told is what happened, and it happened once.
    assert [job_id for job_id, count in Counter(books.acked).items() if count > 1] == []
    succeeded = admin.execute("select job_id::text from dotq.job_queue where state = 'succeeded'").fetchall()
    assert sorted(row[0] for row in succeeded) == sorted(books.acked)
    assert [(job_id, state) for job_id, state in books.ended if job(admin, job_id)["state"] != state] == []

    # One dead letter for each job that ended badly, none for the others.
    bad = "select job_id from dotq.job_queue where state in ('failed', 'dead_letter') order by 1"
    letters = "select job_id from dotq.job_dead_letter order by 1"
    assert admin.execute(bad.encode()).fetchall() == admin.execute(letters.encode()).fetchall()

    check_transitions(admin)


def check_transitions(admin: Connection) -> None:
    """Only moves of the published state machine, counters and tokens moving with them."""
    tokens: set[int] = set()
    seen = set()
    rows = admin.execute(
        "select old_state, new_state, old_attempts, new_attempts, old_token, new_token "
        "from public.transition order by place"
    ).fetchall()
    for old, new, old_attempts, new_attempts, old_token, new_token in rows:
        seen.add((old, new))
        if old is None:
            assert (new, new_attempts, new_token) == ("queued", 0, None)
        elif new != old:
            assert new in FOLLOWS.get(old, set()), f"{old} -> {new}"
        if new == "leased" and old != "leased":
            assert new_attempts == old_attempts + 1
            assert new_token not in tokens, "a lease number was used twice"
            tokens.add(new_token)
        elif old is not None:
            assert new_attempts == old_attempts or (new, new_attempts) == ("queued", old_attempts - 1)
            assert new_token in (old_token, None)
        if new in ("queued", "retry_waiting"):
            assert new_token is None, "a waiting job keeps the number of an old lease"
    assert {("leased", "succeeded"), ("leased", "queued"), ("leased", "retry_waiting")} <= seen
