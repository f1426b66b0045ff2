"""The process between a throw-away server and whoever asked for it: it outlives neither of them.

It answers each order with one line of JSON on stdout. Its stdin is a pipe whose other end the asker holds.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from dotq._server._binaries import Installation, ServerError
from dotq._server._cluster import DEFAULT_PORT, Cluster, choose_socket_dir
from dotq._server._process import Identity, end, identity, reachable_installation

_PREFIX = "dotq-pg-"
_ABANDONED_SECONDS = 600.0
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class _Ended(BaseException):
    """Somebody asked the guard to stop."""


def main(order: dict[str, Any]) -> None:
    """Start the server, obey, and clean up when the asker has gone."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise _Ended

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)
    base: Path | None = None
    cluster: Cluster | None = None
    try:
        who = identity()
        root = _temp_root(who)
        _sweep(root, who)
        base = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=root))
        lock = os.open(base / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = _make(order, who, base)
        _serve(cluster, int(order["parent"]))
    except ServerError as error:
        _say({"error": str(error), "hint": error.hint})
    except OSError as error:
        _say({"error": f"cannot start PostgreSQL: {error}"})
    except _Ended:
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if cluster is not None and cluster.process is not None:
            first = signal.SIGINT if order["durable"] else signal.SIGQUIT
            end(cluster.process, (first, 30.0), (signal.SIGQUIT, 10.0))
        if base is not None:
            shutil.rmtree(base, ignore_errors=True)


def _make(order: dict[str, Any], who: Identity, base: Path) -> Cluster:
    bundle = Path(order["bundle"]) if order["bundle"] else None
    found = Installation(Path(order["bindir"]), str(order["version"]), bundle)
    base.chmod(0o711 if who.kind == "nobody" else 0o700)
    inner = base / "server"
    inner.mkdir(mode=0o700)
    who.give(inner)
    cluster = Cluster(
        installation=reachable_installation(found, who),
        who=who,
        data=inner / "data",
        socket_dir=choose_socket_dir(base / "run", DEFAULT_PORT, who),
        log=base / "server.log",
        settings={**({} if order["durable"] else _NOT_DURABLE), **order["settings"]},
    )
    cluster.initialise(durable=False)
    return cluster


def _serve(cluster: Cluster, parent: int) -> None:
    """Obey until the asker has gone: the pipe closes, or our parent changes (a fork may hold the pipe)."""
    _start(cluster)
    buffer = b""
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if not readable:
            continue
        received = os.read(0, 4096)
        if not received:
            return
        *lines, buffer = (buffer + received).split(b"\n")
        for line in lines:
            if cluster.process is not None:
                if line == b"crash":
                    end(cluster.process)
                else:
                    end(cluster.process, (signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0))
            _start(cluster)


def _start(cluster: Cluster) -> None:
    found = cluster.start(dies_with_parent=signal.SIGQUIT)
    _say({"pid": found.pid, "data": str(cluster.data), "socket_dir": str(cluster.socket_dir)})


def _say(answer: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _temp_root(who: Identity) -> Path:
    """The temp directory, or /tmp when the user's own one is closed to the server."""
    root = Path(tempfile.gettempdir())
    return root if who.can_reach(root / "x") else Path("/tmp")


def _sweep(root: Path, who: Identity) -> None:
    """Delete what a killed guard left: its lock is free, and its server has ended or is ended now."""
    for base in root.glob(f"{_PREFIX}{os.getuid()}-*"):
        try:
            if base.is_symlink() or base.stat().st_uid != os.getuid():
                continue
            if not (base / "lock").exists():
                if time.time() - base.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(base, ignore_errors=True)
                continue
            descriptor = os.open(base / "lock", os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            nothing = Installation(Path("/nonexistent"), "0")
            left = Cluster(nothing, who, base / "server" / "data", base / "run", base / "server.log")
            left.stop(immediate=True)
            shutil.rmtree(base, ignore_errors=True)
        except (OSError, ServerError):
            continue
        finally:
            os.close(descriptor)
