"""The dev server: one per home, found again by everybody, never confused with somebody else's process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dotq._server import DevServer, ServerError, find_installation, running_dev_dsn
from dotq._server._process import identity, make_directory, reachable_installation, spawn
from harness.databases import wait_for


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory that `up` has made, to be copied: faster than making one for every test."""
    server = DevServer(tmp_path_factory.mktemp("prepared"))
    data = server.up().data
    server.down()
    assert data is not None
    with (Path(data) / "postgresql.conf").open("a") as file:
        file.write("\nfsync = off\n")
    yield Path(data)
    server.reset()


@pytest.fixture
def fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A DOTQ_HOME with nothing in it; whatever runs there at the end is stopped."""
    path = tmp_path / "home"
    monkeypatch.setenv("DOTQ_HOME", str(path))
    yield path
    DevServer().reset()


@pytest.fixture
def home(fresh_home: Path, prepared: Path) -> Path:
    """A DOTQ_HOME in which the data directory is already there."""
    clusters = DevServer().base / "clusters"
    make_directory(clusters, identity())
    shutil.copytree(prepared, clusters / prepared.name)
    return fresh_home


@pytest.fixture
def unused_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def dotq(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command itself."""
    command = [sys.executable, "-c", "from dotq.cli import main; main(prog_name='dotq')", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def start_dotq(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from dotq.cli import main; main(prog_name='dotq')", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def status() -> dict[str, Any]:
    return asdict(DevServer().status())


def execute(statement: str) -> None:
    url = running_dev_dsn()
    assert url is not None
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(statement.encode())


def scalar(statement: str) -> Any:
    url = running_dev_dsn()
    assert url is not None
    with psycopg.connect(url) as conn:
        row = conn.execute(statement.encode()).fetchone()
    return row[0] if row else None


def test_up_url_psql_down(home: Path) -> None:
    assert dotq("dev", "url").returncode == 3
    assert dotq("dev", "up").returncode == 0
    url = dotq("dev", "url").stdout.splitlines()
    assert url == [running_dev_dsn()]
    assert dotq("dev", "psql", "-XAtc", "select current_database()").stdout == "dotq\n"
    assert dotq("dev", "down").returncode == 0
    assert running_dev_dsn() is None
    assert dotq("dev", "down").returncode == 0
    stopped = dotq("--json", "dev", "status")
    assert stopped.returncode == 3
    assert json.loads(stopped.stdout)["running"] is False


def test_data_survives_down_and_up_and_reset_deletes_it(home: Path) -> None:
    DevServer().up()
    execute("create table kept as select 7 as x")
    DevServer().down()
    DevServer().up()
    assert scalar("select x from kept") == 7
    refused = dotq("dev", "reset", stdin=subprocess.DEVNULL)
    assert refused.returncode == 2
    assert scalar("select x from kept") == 7
    assert dotq("dev", "reset", "--yes").returncode == 0
    DevServer().up()
    assert scalar("select to_regclass('kept')") is None


def test_dev_server_is_durable(fresh_home: Path) -> None:
    DevServer().up()
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        assert scalar(f"show {name}") == "on"


def test_racing_ups_share_one_server(fresh_home: Path) -> None:
    racers = [start_dotq("--json", "dev", "up") for _ in range(4)]
    answers = [racer.communicate(timeout=120) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4, answers
    assert len({json.loads(out)["pid"] for out, _ in answers}) == 1
    assert len(list((DevServer().base / "clusters").iterdir())) == 1


def test_up_after_the_postmaster_was_killed(home: Path) -> None:
    DevServer().up()
    execute("create table kept as select 7 as x")
    first = status()
    os.kill(first["pid"], signal.SIGKILL)
    DevServer().up()
    assert status()["pid"] != first["pid"]
    assert scalar("select x from kept") == 7


def test_up_waits_for_the_backends_of_a_killed_postmaster(home: Path) -> None:
    """A stopped backend holds the shared memory; a second server beside it would destroy the data."""
    DevServer().up()
    url = running_dev_dsn()
    assert url is not None
    with psycopg.connect(url) as conn:
        backend = conn.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        try:
            os.kill(status()["pid"], signal.SIGKILL)
            second = start_dotq("dev", "up")
            log = home / "dev" / "server.log"
            wait_for(lambda: "still in use" in log.read_text(), "the refusal")
            assert second.poll() is None
        finally:
            os.kill(backend, signal.SIGCONT)
        _, error = second.communicate(timeout=90)
        assert second.returncode == 0, error
    assert scalar("select 1") == 1


def test_stale_pid_file_that_names_another_process(home: Path) -> None:
    """The pid was reused by a living process that is none of ours: it is left alone; the server starts."""
    DevServer().up()
    data, sockets = Path(status()["data"]), Path(status()["socket_dir"])
    DevServer().down()
    with subprocess.Popen(["sleep", "600"]) as bystander:
        try:
            (sockets / ".s.PGSQL.5432.lock").write_text(f"{bystander.pid}\n{data}\n1\n5432\n")
            (data / "postmaster.pid").write_text(f"{bystander.pid}\n{data}\n1\n5432\n\n\n\nready\n")
            assert running_dev_dsn() is None
            assert DevServer().down() is False
            DevServer().up()
            assert bystander.poll() is None
            assert status()["pid"] != bystander.pid
        finally:
            bystander.kill()


def test_another_postgres_on_another_directory_is_not_ours(home: Path) -> None:
    """The pid belongs to a real postgres, but not to one on this data directory."""
    DevServer().up()
    mine = status()
    other = DevServer(home / "other")
    stranger = other.up()
    try:
        DevServer().down()
        (Path(mine["data"]) / "postmaster.pid").write_text(f"{stranger.pid}\n{stranger.data}\n1\n5432\n")
        assert DevServer().down() is False
        assert other.status().running
    finally:
        other.reset()


def test_server_started_by_hand_is_not_stopped(home: Path) -> None:
    DevServer().up()
    data, sockets = Path(status()["data"]), status()["socket_dir"]
    DevServer().down()
    program = reachable_installation(find_installation(), identity()).bin("postgres")
    foreign = spawn([program, "-D", data, "-k", sockets, "-c", "listen_addresses="], identity())
    try:
        wait_for(lambda: running_dev_dsn() and "ready" in (data / "postmaster.pid").read_text(), "the server")
        refused = dotq("dev", "down")
        assert refused.returncode == 1
        assert "was not started by dotq" in refused.stderr
        assert dotq("dev", "reset", "--yes").returncode == 1
        assert foreign.poll() is None
        assert data.is_dir()
    finally:
        foreign.send_signal(signal.SIGINT)
        foreign.wait(30)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_launcher_killed_during_initdb(fresh_home: Path, number: signal.Signals) -> None:
    launcher = start_dotq("dev", "up")
    clusters = DevServer().base / "clusters"
    wait_for(
        lambda: list(clusters.glob("pg*.init-*/base")),
        "initdb",
    )
    launcher.send_signal(number)
    launcher.communicate(timeout=30)
    assert launcher.returncode != 0
    wait_for(lambda: not _processes_on(clusters), "initdb to end")
    assert running_dev_dsn() is None
    if number != signal.SIGKILL:
        assert list(clusters.iterdir()) == []
    DevServer().up()
    assert [path.name for path in clusters.iterdir()] == [f"pg{status()['pg']}"]


def test_launcher_killed_while_the_server_starts(home: Path) -> None:
    """What the killed launcher started is not lost: the next command finds it or replaces it."""
    DevServer().up()
    data = Path(status()["data"])
    DevServer().down()
    launcher = start_dotq("dev", "up")
    wait_for((data / "postmaster.pid").exists, "the server to take its lock")
    launcher.kill()
    launcher.communicate()
    DevServer().up()
    assert scalar("select 1") == 1
    assert len(_processes_on(data)) == 1
    assert DevServer().down()
    assert _processes_on(data) == []


def test_failed_start_leaves_no_process(home: Path) -> None:
    DevServer().up()
    data = Path(status()["data"])
    DevServer().down()
    with (data / "postgresql.conf").open("a") as file:
        file.write("\nno_such_setting = 1\n")
    failed = dotq("dev", "up")
    assert failed.returncode == 5
    assert "no_such_setting" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert _processes_on(data) == []


def test_lost_state_file_does_not_lose_the_server(home: Path) -> None:
    DevServer().up()
    pid = status()["pid"]
    (home / "dev" / "state.json").unlink()
    DevServer().up()
    assert status()["pid"] == pid
    assert DevServer().down()


def test_long_home_gets_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / ("long-" * 20) / ("longer-" * 10)
    monkeypatch.setenv("DOTQ_HOME", str(home))
    try:
        DevServer().up()
        sockets = Path(status()["socket_dir"])
        assert not sockets.is_relative_to(home)
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert scalar("select 1") == 1
    finally:
        DevServer().reset()


def test_home_with_odd_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOTQ_HOME", str(tmp_path / "a b,c%'d"))
    try:
        DevServer().up()
        assert scalar("select 1") == 1
    finally:
        DevServer().reset()


def test_other_version_or_port_is_refused_while_running(home: Path) -> None:
    DevServer().up()
    running = status()["pg"]
    other = "16" if running == "18" else "18"
    refused = dotq("dev", "up", "--pg", other)
    assert refused.returncode == 5
    assert f"PostgreSQL {running}" in refused.stderr
    assert dotq("dev", "up", "--port", "54329").returncode == 5


def test_tcp_needs_the_password(home: Path, unused_port: int) -> None:
    assert dotq("dev", "up", "--port", str(unused_port)).returncode == 0
    found = DevServer().status()
    assert found.tcp_url is not None
    with psycopg.connect(found.tcp_url) as conn:
        assert conn.execute("select inet_server_port()").fetchone() == (unused_port,)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"host=127.0.0.1 port={unused_port} user=postgres dbname=dotq passfile=/nonexistent")
    assert (home / "dev" / "state.json").stat().st_mode & 0o077 == 0


def test_port_in_use_is_one_clear_error(home: Path, unused_port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", unused_port))
        taken.listen()
        failed = dotq("dev", "up", "--port", str(unused_port))
    assert failed.returncode == 5
    assert "Address already in use" in failed.stderr
    assert not status()["running"]


def test_wrong_binaries_are_one_clear_error(fresh_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOTQ_PG_BIN", str(tmp_path))
    failed = dotq("dev", "up")
    assert failed.returncode == 5
    assert failed.stderr.startswith("dotq: cannot run ")
    with pytest.raises(ServerError):
        find_installation()


def _processes_on(data: Path) -> list[int]:
    """Server and initdb processes at the top of a family, whose command line names this directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(name in words[0] for name in (b"postgres", b"initdb")) and str(data).encode() in b" ".join(words):
                found.append(int(entry.name))
    return found
