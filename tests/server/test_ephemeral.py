"""A throw-away server ends with whoever asked for it, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from dotq._server import EphemeralServer, ServerError
from dotq._server._process import is_postgres_on, process_start
from harness.databases import wait_for


@dataclass
class Asker:
    """A process that holds a throw-away server, and what it told us about it."""

    process: subprocess.Popen[str]
    server_pid: int
    guard_pid: int
    data: Path

    def server_is_gone(self) -> bool:
        return not is_postgres_on(self.server_pid, self.data)

    def files_are_gone(self) -> bool:
        return not self.data.parents[1].exists()


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp directory of this test's own that every user can pass through, for the servers started in it."""
    with tempfile.TemporaryDirectory(prefix="dotq-scratch-", dir="/tmp") as name:
        Path(name).chmod(0o711)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(name)


@pytest.fixture
def asker(scratch: Path) -> Iterator[Asker]:
    """Start a process that starts a server and then waits for ever."""
    program = """
        import sys, threading
        from dotq._server import EphemeralServer
        server = EphemeralServer()
        server.start()
        print(server.pid, server._guard.pid, server.data, flush=True)
        threading.Event().wait()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    words = process.stdout.readline().split()
    yield Asker(process, int(words[0]), int(words[1]), Path(words[2]))
    process.kill()
    process.communicate()


def test_serves_and_leaves_nothing(scratch: Path) -> None:
    with EphemeralServer() as server:
        with psycopg.connect(server.dsn()) as conn:
            row = conn.execute("select current_setting('fsync'), current_setting('server_encoding')").fetchone()
        assert row == ("off", "UTF8")
        pid, data = server.pid, server.data
        assert pid is not None
        assert data is not None
        assert is_postgres_on(pid, data)
    assert not is_postgres_on(pid, data)
    assert list(scratch.iterdir()) == []


def test_listens_on_its_socket_only() -> None:
    with EphemeralServer() as server, psycopg.connect(server.dsn()) as conn:
        assert conn.execute("show listen_addresses").fetchone() == ("",)
        assert server.socket_dir is not None
        assert server.socket_dir.stat().st_mode & 0o777 == 0o700


def test_durable_server_keeps_the_safe_settings() -> None:
    with EphemeralServer(durable=True) as server, psycopg.connect(server.dsn()) as conn:
        names = ("fsync", "synchronous_commit", "full_page_writes")
        assert [conn.execute(f"show {name}".encode()).fetchone() for name in names] == [("on",)] * 3


def test_committed_rows_outlive_a_crash() -> None:
    with EphemeralServer(durable=True) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            conn.execute("create table kept as select 1 as x")
        before = server.pid
        server.restart(crash=True)
        assert server.pid != before
        with psycopg.connect(server.dsn()) as conn:
            assert conn.execute("select x from kept").fetchone() == (1,)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_ends_with_its_asker(asker: Asker, number: signal.Signals) -> None:
    assert not asker.server_is_gone()
    asker.process.send_signal(number)
    wait_for(asker.server_is_gone, "the server to end")
    wait_for(asker.files_are_gone, "its files to be deleted")


def test_ends_when_the_whole_session_is_killed(asker: Asker) -> None:
    os.killpg(asker.process.pid, signal.SIGKILL)
    wait_for(asker.server_is_gone, "the server to end")
    wait_for(asker.files_are_gone, "its files to be deleted")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a child of its parent's death")
def test_ends_when_its_guard_is_killed(asker: Asker) -> None:
    os.kill(asker.guard_pid, signal.SIGKILL)
    wait_for(asker.server_is_gone, "the server to end")


def test_next_server_sweeps_what_a_killed_guard_left(asker: Asker) -> None:
    os.kill(asker.guard_pid, signal.SIGKILL)
    wait_for(asker.server_is_gone, "the server to end")
    assert not asker.files_are_gone()
    with EphemeralServer():
        assert asker.files_are_gone()


def test_sweep_spares_a_living_server(asker: Asker) -> None:
    with EphemeralServer():
        assert not asker.server_is_gone()
        assert not asker.files_are_gone()


def test_ends_although_a_forked_child_still_holds_the_pipe(scratch: Path) -> None:
    program = """
        import os, signal, sys, time
        from dotq._server import EphemeralServer
        server = EphemeralServer()
        server.start()
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(server.pid, child, server.data, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pid, child, data = process.stdout.readline().split()
    assert process.wait(30) == -signal.SIGKILL
    try:
        assert process_start(int(child)) is not None
        wait_for(lambda: not is_postgres_on(int(pid), Path(data)), "the server to end")
    finally:
        os.kill(int(child), signal.SIGKILL)


def test_interrupt_while_starting_leaves_nothing(scratch: Path) -> None:
    program = "from dotq._server import EphemeralServer\nEphemeralServer().start()\nimport time; time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    wait_for(lambda: list(scratch.glob("dotq-pg-*/server/data.init-*/PG_VERSION")), "initdb to be at work")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    wait_for(lambda: not list(scratch.iterdir()), "everything to be deleted")


def test_bad_setting_is_one_clear_error(scratch: Path) -> None:
    with pytest.raises(ServerError, match="unrecognized configuration parameter"):
        EphemeralServer(settings={"no_such_setting": "1"}).start()
    assert list(scratch.iterdir()) == []


def test_many_at_once_do_not_meet() -> None:
    with EphemeralServer() as one, EphemeralServer() as two:
        assert one.dsn() != two.dsn()
        with psycopg.connect(one.dsn(), autocommit=True) as conn:
            conn.execute("create database only_here")
        with psycopg.connect(two.dsn()) as conn:
            assert conn.execute("select 1 from pg_database where datname = 'only_here'").fetchone() is None
