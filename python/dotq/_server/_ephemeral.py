"""A server that lives as long as the process that asked for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from dotq._server._binaries import Installation, ServerError, find_installation
from dotq._server._cluster import DEFAULT_PORT, socket_url

_START = """
import json, sys
order = json.loads(sys.argv[1])
sys.path[:] = order["path"]
from dotq._server._guard import main
main(order)
"""


class EphemeralServer:
    """A throw-away PostgreSQL, run by a guard process.

    The guard holds the other end of a pipe: when this process ends, even by SIGKILL, the pipe closes, and
    the guard stops the server and deletes its files. When the guard is killed, the kernel tells the server.
    """

    def __init__(
        self, pg: str | None = None, *, durable: bool = False, settings: Mapping[str, str] | None = None
    ) -> None:
        self.installation: Installation = find_installation(pg)
        self.durable = durable
        self.settings = dict(settings or {})
        self.socket_dir: Path | None = None
        self.data: Path | None = None
        self.pid: int | None = None
        self._guard: subprocess.Popen[str] | None = None

    def __enter__(self) -> EphemeralServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def version(self) -> str:
        """The full version of the server."""
        return self.installation.version

    def bin(self, name: str) -> Path:
        """The path of one of the server's own programs."""
        return self.installation.bin(name)

    def dsn(self, dbname: str = "postgres") -> str:
        """A superuser's connection string."""
        if self.socket_dir is None:
            raise ServerError("the server has not been started")
        return socket_url(self.socket_dir, DEFAULT_PORT, dbname)

    def start(self) -> None:
        """Make a data directory and start the server on it; returns when it answers."""
        order = {
            "path": [entry or os.getcwd() for entry in sys.path],
            "bindir": str(self.installation.bindir),
            "version": self.installation.version,
            "bundle": str(self.installation.bundle) if self.installation.bundle else None,
            "durable": self.durable,
            "settings": self.settings,
            "parent": os.getpid(),
        }
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._hear()

    def restart(self, *, crash: bool = False) -> None:
        """Stop and start the server on the same data; `crash` kills it without a word."""
        if self._guard is None or self._guard.stdin is None:
            raise ServerError("the server has not been started")
        self._guard.stdin.write("crash\n" if crash else "restart\n")
        self._guard.stdin.flush()
        self._hear()

    def stop(self) -> None:
        """Stop the server and delete its files; harmless when there is none."""
        guard, self._guard, self.socket_dir, self.pid = self._guard, None, None, None
        if guard is None:
            return
        try:
            guard.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.communicate()

    def _hear(self) -> None:
        """One line from the guard: what is where, or what went wrong."""
        guard = self._guard
        assert guard is not None
        assert guard.stdout is not None
        assert guard.stderr is not None
        try:
            line = guard.stdout.readline()
            answer = json.loads(line) if line else {"error": guard.stderr.read().strip() or "its guard ended"}
        except BaseException:
            self.stop()
            raise
        if "error" in answer:
            self.stop()
            raise ServerError(answer["error"], hint=answer.get("hint"))
        self.socket_dir = Path(answer["socket_dir"])
        self.data = Path(answer["data"])
        self.pid = int(answer["pid"])
