"""The dev server: one per user (or per DOTQ_HOME), durable, alive until it is told to stop."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from dotq._server._binaries import DEFAULT_MAJOR, Installation, ServerError, find_installation, home
from dotq._server._cluster import DEFAULT_PORT, SUPERUSER, Cluster, choose_socket_dir, socket_url
from dotq._server._process import (
    command_line,
    identity,
    make_directory,
    process_start,
    reachable_installation,
    shared_home,
    wait_until,
)

DATABASE = "dotq"
_MARK = "dotq-dev"  # the cluster_name of servers that we start


@dataclass(frozen=True)
class DevStatus:
    """Where the dev server is, and whether it runs."""

    running: bool
    pg: str | None = None
    version: str | None = None
    pid: int | None = None
    url: str | None = None
    tcp_url: str | None = None
    data: str | None = None
    socket_dir: str | None = None
    port: int | None = None
    log: str | None = None


@dataclass
class _State:
    """What the next command must know about the last `up`; kept beside the data directory."""

    major: str
    data: str
    socket_dir: str
    port: int
    tcp: bool = False
    password: str | None = None
    version: str | None = None
    pid: int | None = None
    started: str | None = None


class DevServer:
    """Starts, finds and stops the dev server; every change happens under one lock file."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or home()) / "dev"

    def status(self) -> DevStatus:
        """What is running now."""
        state = self._load()
        if state is None:
            return DevStatus(running=False)
        cluster = self._cluster(state)
        found = cluster.postmaster()
        tcp_url = None
        if found is not None and state.tcp:
            tcp_url = f"postgresql://{SUPERUSER}:{state.password}@127.0.0.1:{state.port}/{DATABASE}"
        return DevStatus(
            running=found is not None,
            pg=state.major,
            version=state.version,
            pid=found.pid if found else None,
            url=socket_url(Path(state.socket_dir), state.port, DATABASE) if found else None,
            tcp_url=tcp_url,
            data=state.data,
            socket_dir=state.socket_dir,
            port=state.port,
            log=str(cluster.log),
        )

    @property
    def base(self) -> Path:
        """Where the data directories are: beside our own files, unless the server cannot get there."""
        who = identity()
        return self.root if who.kind != "nobody" else shared_home(who, self.root)

    def installation(self) -> Installation:
        """The binaries that belong to the dev server."""
        state = self._load()
        return find_installation(state.major if state else None)

    def up(self, *, pg: str | None = None, port: int | None = None) -> DevStatus:
        """Start the server unless it runs; a second caller waits and finds it running."""
        with self._locked():
            before = self._load()
            if before is not None and self._cluster(before).postmaster() is not None:
                self._refuse_other(before, pg, port)
                # A server that was killed a moment ago is still in the process table; only an answer counts.
                wait_until(lambda: self._answers(before) or self._cluster(before).postmaster() is None, 60.0)
            if before is None or self._cluster(before).postmaster() is None:
                self._start(before, pg, port)
            return self.status()

    def down(self) -> bool:
        """Stop the server; False when none was running."""
        with self._locked():
            return self._stop()

    def reset(self) -> bool:
        """Stop the server and delete its data; False when there was none."""
        with self._locked():
            self._stop()
            state = self._load()
            existed = state is not None and Path(state.data).exists()
            if state is not None:
                shutil.rmtree(state.data, ignore_errors=True)
                shutil.rmtree(state.socket_dir, ignore_errors=True)
                if Path(state.data).exists():
                    raise ServerError(f"cannot delete {state.data}")
                for folder in (Path(state.data).parent, self.base):
                    with suppress(OSError):
                        folder.rmdir()  # only when nothing else is in it
            self._state_file.unlink(missing_ok=True)
            return existed

    def _start(self, before: _State | None, pg: str | None, port: int | None) -> None:
        who = identity()
        major = pg or (before.major if before and not os.environ.get("DOTQ_PG_BIN") else None)
        installation = reachable_installation(find_installation(major), who)
        base = self.base
        make_directory(base, who)
        number = port or DEFAULT_PORT
        state = _State(
            major=installation.major,
            data=str(base / "clusters" / f"pg{installation.major}"),
            socket_dir=str(choose_socket_dir(base / "run", number, who)),
            port=number,
            tcp=port is not None,
            password=(before.password if before else None) or secrets.token_urlsafe(18),
            version=installation.version,
        )
        cluster = self._cluster(state, installation)
        make_directory(cluster.data.parent, who)
        who.give(cluster.data.parent)
        cluster.sweep()
        if not cluster.data.exists():
            cluster.initialise(durable=True)
        who.give(cluster.data)
        self._save(state)
        started = cluster.start()
        try:
            self._prepare(state)
        except BaseException:
            cluster.stop()
            raise
        state.pid, state.started = started.pid, process_start(started.pid)
        self._save(state)

    def _answers(self, state: _State) -> bool:
        try:
            psycopg.connect(socket_url(Path(state.socket_dir), state.port, "postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _prepare(self, state: _State) -> None:
        """Make the database; give the superuser a password when the server also listens on TCP."""
        url = socket_url(Path(state.socket_dir), state.port, "postgres")
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as conn:
            if conn.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone() is None:
                conn.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
            if state.tcp:
                role, password = sql.Identifier(SUPERUSER), sql.Literal(state.password)
                conn.execute(sql.SQL("alter role {} password {}").format(role, password))

    def _stop(self) -> bool:
        state = self._load()
        if state is None:
            return False
        cluster = self._cluster(state)
        found = cluster.postmaster()
        if found is None:
            return False
        recorded = state.pid == found.pid and state.started == process_start(found.pid)
        if not recorded and f"cluster_name={_MARK}" not in command_line(found.pid):
            raise ServerError(
                f"the server on {state.data} (process {found.pid}) was not started by dotq",
                hint="stop it the way it was started",
            )
        return cluster.stop()

    def _refuse_other(self, running: _State, pg: str | None, port: int | None) -> None:
        """A running server is not silently swapped for another one."""
        if pg is not None and pg != running.major:
            message = f"a PostgreSQL {running.major} dev server is running"
            raise ServerError(message, hint="run `dotq dev down` first")
        if port is not None and (not running.tcp or port != running.port):
            where = f"on port {running.port}" if running.tcp else "on its socket only"
            raise ServerError(f"the dev server is already running, {where}", hint="run `dotq dev down` first")

    @property
    def _state_file(self) -> Path:
        return self.root / "state.json"

    def _cluster(self, state: _State, installation: Installation | None = None) -> Cluster:
        return Cluster(
            installation=installation or Installation(Path("/nonexistent"), state.version or state.major),
            who=identity(),
            data=Path(state.data),
            socket_dir=Path(state.socket_dir),
            log=self.root / "server.log",
            port=state.port,
            tcp=state.tcp,
            settings={"cluster_name": _MARK},
        )

    def _load(self) -> _State | None:
        try:
            return _State(**json.loads(self._state_file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise ServerError(f"cannot read {self._state_file}: {error}", hint="delete that file") from error

    def _save(self, state: _State) -> None:
        part = self._state_file.with_suffix(".part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(state), file, indent=2)
        part.replace(self._state_file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock goes with the process that holds it, so a killed launcher leaves nothing behind."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ServerError(f"cannot write {self.root}: {error.strerror}", hint="set DOTQ_HOME") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def running_dev_dsn() -> str | None:
    """The connection string of the dev server, or None when it does not run."""
    try:
        return DevServer().status().url
    except ServerError:
        return None


__all__ = ["DATABASE", "DEFAULT_MAJOR", "DevServer", "DevStatus", "running_dev_dsn"]
