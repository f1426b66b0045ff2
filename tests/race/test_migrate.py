"""Two installations at once, and one beside a queue at work."""

from __future__ import annotations

from dotq._migrate import migrate, status
from harness.databases import Database
from race.support import Connection, answer, at_once, blocked, call, claim, enqueue, job, one, sound


def test_two_migrators_on_an_empty_database_install_it_once(empty_db: Database) -> None:
    reports = at_once(empty_db, 2, lambda conn, _: migrate(conn))
    applied = sorted(len(report.applied) for report in reports)
    assert applied[0] == 0
    conn = empty_db.connect()
    assert applied[1] == one(conn, "select count(*) from dotq.schema_migration")
    assert status(conn).state == "current"


def test_migrators_of_two_schemas_do_not_disturb_each_other(empty_db: Database) -> None:
    names = ["dotq", "jobs"]
    reports = at_once(empty_db, 2, lambda conn, number: migrate(conn, schema=names[number]))
    assert all(report.applied for report in reports)
    assert [status(empty_db.connect(), name).state for name in names] == ["current", "current"]


def test_a_second_migrator_waits_for_the_first(empty_db: Database) -> None:
    first, second = empty_db.connect(), empty_db.connect()
    first.execute("begin")
    first.execute("select pg_advisory_xact_lock(1685025905, 0)")
    with blocked(empty_db, second, lambda: migrate(second)) as late:
        assert one(first, "select to_regnamespace('dotq')::text") is None
        first.execute("commit")
    assert answer(late).applied


def test_a_migration_beside_workers_loses_and_doubles_nothing(db: Database) -> None:
    admin = db.connect()
    jobs = {enqueue(admin) for _ in range(200)}

    def work(conn: Connection, number: int) -> list[str]:
        if number == 0:
            for _ in range(2):
                migrate(conn)
            return []
        done: list[str] = []
        while call(conn, "fn_job_claim", f"w{number}", 600)["job"] is not None or done == []:
            rows = conn.execute(
                "select job_id, lease_owner || '#' || lease_token from dotq.job_queue where lease_owner = %s",
                [f"w{number}"],
            ).fetchall()
            for job_id, lease in rows:
                call(conn, "fn_job_ack", job_id, lease)
                done.append(str(job_id))
        return done

    done = [job_id for part in at_once(db, 4, work) for job_id in part]
    assert sorted(done) == sorted(jobs)
    sound(admin)


def test_an_open_claim_does_not_stop_a_migration(db: Database) -> None:
    worker, admin = db.connect(autocommit=False), db.connect()
    enqueue(admin)
    job_id, lease = claim(worker)
    migrate(admin, lock_timeout="5s")
    call(worker, "fn_job_ack", job_id, lease)
    worker.commit()
    assert job(admin, job_id)["state"] == "succeeded"
