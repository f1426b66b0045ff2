"""The caller's connection, transaction and schema stay the caller's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from dotq import AsyncClient, Client, errors, indeterminate_commit_guard
from dotq._migrate import migrate
from dotq._server import EphemeralServer
from dotq._sqlfiles import SchemaNameError
from driver.support import MASTER, ME, open_client, scalar
from harness.databases import Database, wait_for


def test_an_enqueue_is_part_of_the_callers_transaction(db: Database) -> None:
    watcher, conn = Client(db.connect()), db.connect(autocommit=False)
    client = Client(conn)
    lost = client.job_enqueue("report", ME).job_id
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    assert watcher.job_list() == []
    conn.rollback()
    assert watcher.job_list() == []
    kept = client.job_enqueue("report", ME).job_id
    conn.commit()
    assert [job.job_id for job in watcher.job_list()] == [kept] != [lost]


async def test_the_same_with_asyncio(db: Database) -> None:
    watcher, conn = Client(db.connect()), await db.aconnect(autocommit=False)
    client = AsyncClient(conn)
    await client.job_enqueue("report", ME)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    await conn.rollback()
    assert watcher.job_list() == []
    kept = (await client.job_enqueue("report", ME)).job_id
    await conn.commit()
    assert [job.job_id for job in watcher.job_list()] == [kept]


def test_a_refusal_leaves_a_savepoint_to_the_caller(db: Database) -> None:
    conn = db.connect(autocommit=False)
    client = Client(conn)
    kept = client.job_enqueue("report", ME).job_id
    with pytest.raises(errors.InvalidArgument), conn.transaction():
        client.job_enqueue("", ME)
    conn.commit()
    assert [job.job_id for job in Client(db.connect()).job_list()] == [kept]


async def test_the_connections_habits_do_not_matter(db: Database, kind: str) -> None:
    client = await open_client(db, kind, row_factory=dict_row, prepare_threshold=0)
    for number in range(7):
        await client.job_enqueue("report", ME, payload_json={"n": number})
    assert len(await client.job_claim_many("w", 3)) == 3
    assert client.conn.row_factory is dict_row


def test_a_client_side_cursor_factory_does_not_matter(db: Database) -> None:
    client = Client(db.connect(cursor_factory=psycopg.RawCursor))
    assert client.job_get(client.job_enqueue("report", ME).job_id).state == "queued"


def test_in_a_pipeline(db: Database) -> None:
    conn = db.connect()
    client = Client(conn)
    with conn.pipeline():
        assert client.job_get(client.job_enqueue("report", ME).job_id).state == "queued"


@pytest.mark.parametrize("schema", ["public", "My Queue", "größe"])
async def test_under_another_schema(empty_db: Database, kind: str, schema: str) -> None:
    migrate(empty_db.connect(), schema=schema)
    client = await open_client(empty_db, kind, schema=schema, options="-c search_path=pg_catalog")
    assert (await client.config_set(MASTER, "true", ME)).value == "true"
    sent = await client.job_enqueue("report", ME, payload_json={"n": 1})
    job = (await client.job_claim("w")).job
    assert job is not None
    assert (job.job_id, job.payload) == (sent.job_id, {"n": 1})
    assert (await client.job_ack(job.job_id, job.lease)).state == "succeeded"
    assert (await client.queue_status()).verdict == "ok"
    assert await client.queue_fsck() == []


def test_a_schema_name_that_cannot_be(db: Database) -> None:
    for name in ("", "a%sb", 'x"y', "pg_x"):
        with pytest.raises(SchemaNameError):
            Client(db.connect(), schema=name)


def test_a_newer_database_may_answer_more(db: Database) -> None:
    """A later release adds keys and columns; a driver of this release does not mind."""
    conn = db.connect()
    client = Client(conn)
    body = scalar(conn, "select pg_get_functiondef('dotq.fn_queue_reap'::regproc)")
    conn.execute(body.replace("'ok', true,", "'ok', true, 'later', '{}'::jsonb,").encode())
    assert "later" in scalar(conn, "select dotq.fn_queue_reap()")
    assert client.queue_reap().reaped == 0
    view = scalar(conn, "select pg_get_viewdef('dotq.v_error_code'::regclass)").rstrip(";")
    wider = "create or replace view dotq.v_error_code as select *, 1 as later from (%s) as v" % view
    conn.execute(wider.encode())
    assert scalar(conn, "select later from dotq.v_error_code limit 1") == 1
    assert len(client.error_codes()) == len(errors.BY_SQLSTATE)


@pytest.fixture(scope="module")
def waiting_server() -> Iterator[EphemeralServer]:
    """A primary whose synchronous standby never comes, for sessions that ask to wait for it."""
    settings = {
        "synchronous_standby_names": "nobody",
        "synchronous_commit": "local",
        "wal_level": "replica",
        "max_wal_senders": "2",
    }
    with EphemeralServer(os.environ.get("DOTQ_TEST_PG") or None, settings=settings) as server:
        yield server


def _cancel_the_wait(server: EphemeralServer, pid: int) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as watcher:
        waits = "select wait_event = 'SyncRep' from pg_stat_activity where pid = %s"
        wait_for(lambda: scalar(watcher, waits, pid), "the commit to wait for the standby")
        watcher.execute("select pg_cancel_backend(%s)", [pid])


def test_a_commit_that_stopped_waiting_for_its_standby_is_told(waiting_server: EphemeralServer) -> None:
    with psycopg.connect(waiting_server.dsn(), autocommit=True) as conn, ThreadPoolExecutor() as pool:
        conn.execute("create table if not exists kept (n integer)")
        conn.execute("set synchronous_commit = on")
        cancelling = pool.submit(_cancel_the_wait, waiting_server, conn.info.backend_pid)
        with (
            pytest.raises(errors.CommitIndeterminate) as raised,
            indeterminate_commit_guard(conn),
            conn.transaction(),
        ):
            conn.execute("insert into kept values (1)")
        cancelling.result()
        assert raised.value.sqlstate == "01000"
        conn.execute("set synchronous_commit = local")
        with indeterminate_commit_guard(conn), conn.transaction():
            conn.execute("insert into kept values (2)")
            conn.execute("do $$begin raise warning 'canceling wait for synchronous replication'; end$$")
        assert scalar(conn, "select count(*) from kept") == 2
        assert _handlers(conn) == 0


def _handlers(conn: psycopg.Connection[Any]) -> int:
    return len(conn._notice_handlers)
