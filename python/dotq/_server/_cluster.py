"""One data directory and the server on it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from dotq._server._binaries import Installation, ServerError
from dotq._server._process import Identity, end, is_postgres_on, spawn, wait_until

_SOCKET_PATH_LIMIT = 107
_INITDB_SECONDS = 120.0
_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
# The lines of a failed start that say why: what went wrong in detail, and the end of it.
_REASON = re.compile(r"(?:LOG:  (?=could not|unrecognized|invalid)|FATAL:  |PANIC:  )(.*)")
SUPERUSER = "postgres"
DEFAULT_PORT = 5432


def socket_url(socket_dir: Path, port: int, dbname: str) -> str:
    """A connection string for the superuser over the Unix socket."""
    database, host = quote(dbname, safe=""), quote(str(socket_dir), safe="")
    return f"postgresql://{SUPERUSER}@/{database}?host={host}&port={port}"


def choose_socket_dir(preferred: Path, port: int, who: Identity) -> Path:
    """`preferred`, or a short directory when that path is too long or, for libpq, has a comma."""
    path = preferred
    if len(os.fsencode(path / f".s.PGSQL.{port}")) > _SOCKET_PATH_LIMIT or "," in str(path):
        name = f"dotq-{os.getuid()}-{hashlib.sha256(os.fsencode(preferred)).hexdigest()[:12]}"
        path = Path("/tmp") / name  # private (0700, owner checked below), and short
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if path.is_symlink() or found.st_uid not in (os.getuid(), who.owner[0]):
        raise ServerError(f"the socket directory {path} belongs to somebody else")
    path.chmod(0o700)
    who.give(path)
    return path


def _refuse_failure(code: int, output: str) -> None:
    """Raise with the line of initdb's output that says why it failed."""
    if code == 0:
        return
    lines = output.strip().splitlines() or [f"exit code {code}"]
    reason = next((line for line in lines if "error:" in line or "FATAL" in line), lines[-1])
    raise ServerError(f"initdb failed: {reason}")


@dataclass(frozen=True)
class Postmaster:
    """What postmaster.pid says."""

    pid: int
    ready: bool


@dataclass
class Cluster:
    """A data directory with the settings its server is started with."""

    installation: Installation
    who: Identity
    data: Path
    socket_dir: Path
    log: Path
    port: int = DEFAULT_PORT
    tcp: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def initialise(self, *, durable: bool) -> None:
        """Make the data directory: in a directory beside it, moved into place when it is complete."""
        part = Path(tempfile.mkdtemp(prefix=f"{self.data.name}.init-", dir=self.data.parent))
        try:
            self.who.give(part)
            command: list[str | Path] = [
                self.installation.bin("initdb"),
                f"--pgdata={part}",
                f"--username={SUPERUSER}",
                "--no-locale",
                "--encoding=UTF8",
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "--no-instructions",
            ]
            with tempfile.TemporaryFile() as output:
                initdb = spawn(
                    command if durable else [*command, "--no-sync"],
                    self.who,
                    dies_with_parent=signal.SIGTERM,
                    output=output.fileno(),
                )
                try:
                    code = initdb.wait(_INITDB_SECONDS)
                except subprocess.TimeoutExpired:
                    raise ServerError(f"initdb did not finish within {_INITDB_SECONDS:.0f} s") from None
                finally:
                    end(initdb, (signal.SIGTERM, 5.0))
                output.seek(0)
                _refuse_failure(code, output.read().decode(errors="replace"))
            part.rename(self.data)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise

    def sweep(self) -> None:
        """Remove what an initdb that was killed half-way has left."""
        for part in self.data.parent.glob(f"{self.data.name}.init-*"):
            shutil.rmtree(part, ignore_errors=True)

    def postmaster(self) -> Postmaster | None:
        """The server that runs on this data directory, if the recorded pid really is one."""
        try:
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
            pid = abs(int(lines[0]))
        except (OSError, ValueError, IndexError):
            return None
        if pid == 0 or not is_postgres_on(pid, self.data):
            return None
        return Postmaster(pid, ready=len(lines) > 7 and lines[7].strip() == "ready")

    def start(self, *, dies_with_parent: signal.Signals | None = None) -> Postmaster:
        """Start the server and wait until it answers; a server that is already there is taken as it is."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            offset = self.log.stat().st_size if self.log.exists() else 0
            if self.postmaster() is None:
                # A pid file whose number was reused by another process would make the server refuse to start.
                # It still refuses when processes of a killed server hold the shared memory: then try again.
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                self._clear_socket()
                with self.log.open("ab") as log:
                    self.process = spawn(self._command(), self.who, dies_with_parent=dies_with_parent, output=log)
            try:
                running = self._await_ready(deadline)
            except BaseException:
                if self.process is not None:
                    end(self.process, (signal.SIGINT, 5.0), (signal.SIGQUIT, 5.0))
                raise
            if running is not None:
                return running
            reason = self._log_tail(offset)
            passing = "still in use" in reason or ("lock file" in reason and "already exists" in reason)
            if not passing or time.monotonic() > deadline:
                raise ServerError(f"PostgreSQL did not start: {reason}", hint=f"the log is {self.log}")
            time.sleep(0.1)

    def _clear_socket(self) -> None:
        """Remove the socket of a server that is gone; its lock file, too, may name a reused number."""
        lock = self.socket_dir / f".s.PGSQL.{self.port}.lock"
        try:
            lines = lock.read_text(encoding="utf-8", errors="replace").splitlines()
            owner, data = int(lines[0]), Path(lines[1])
        except (OSError, ValueError, IndexError):
            return
        if not is_postgres_on(owner, data):
            lock.with_suffix("").unlink(missing_ok=True)
            lock.unlink(missing_ok=True)

    def _await_ready(self, deadline: float) -> Postmaster | None:
        """The server once it is ready; None when the one that we started has ended."""
        while time.monotonic() < deadline:
            found = self.postmaster()
            if found is not None and found.ready:
                if self.process is not None and self.process.pid != found.pid:
                    self.process.wait()  # another launcher was first; ours has found the lock and ends
                    self.process = None
                return found
            if self.process is not None and self.process.poll() is not None and found is None:
                return None
            if self.process is None and found is None:
                return None
            time.sleep(0.02)
        hint = f"the log is {self.log}"
        raise ServerError(f"PostgreSQL was not ready within {_START_SECONDS:.0f} s", hint=hint)

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1" if self.tcp else "",
            "port": str(self.port),
            "unix_socket_directories": '"' + str(self.socket_dir).replace('"', '""') + '"',
            "unix_socket_permissions": "0700",
            **self.settings,
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        return [self.installation.bin("postgres"), "-D", self.data, *options]

    def _log_tail(self, offset: int) -> str:
        with self.log.open("rb") as file:
            file.seek(offset)
            lines = file.read().decode(errors="replace").strip().splitlines()
        told = [match.group(1) for line in lines if (match := _REASON.search(line))]
        return "; ".join(told[:2]) or (lines or ["it wrote nothing to its log"])[-1]

    def stop(self, *, immediate: bool = False) -> bool:
        """Stop the server on this data directory and wait until it has gone; False when there was none."""
        found = self.postmaster()
        if found is None:
            return False
        for number in (signal.SIGQUIT,) if immediate else (signal.SIGINT, signal.SIGQUIT):
            try:
                os.kill(found.pid, number)
            except ProcessLookupError:
                break
            except PermissionError:
                raise ServerError(f"process {found.pid} on {self.data} belongs to another user") from None
            if wait_until(lambda: self._gone(found.pid), _STOP_SECONDS):
                break
        else:
            hint = f"the log is {self.log}"
            raise ServerError(f"PostgreSQL (process {found.pid}) does not stop", hint=hint)
        return True

    def _gone(self, pid: int) -> bool:
        if self.process is not None and self.process.pid == pid:
            return self.process.poll() is not None
        return not is_postgres_on(pid, self.data)
