"""Processes: under whose rights the server runs, how it is tied to its parent, and which pid is really it.

PostgreSQL refuses to run as root. Root therefore starts it in a user namespace, where root's files belong to
an ordinary user: no account is made and no directory is opened to others. Where the kernel refuses that (a
container's default profile often does), root hands the data directory to `nobody` and the server runs as it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from dotq._server._binaries import Installation, ServerError

_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_LINUX = sys.platform.startswith("linux")
_LIBC = ctypes.CDLL(None, use_errno=True)
# Where `nobody` can get at files that root keeps for it, when root's own directories are closed.
_SHARED_CACHES = (Path("/var/cache/dotq"), Path("/var/tmp/dotq-cache"))
_SHARED_HOMES = (Path("/var/lib/dotq"), Path("/var/tmp/dotq-home"))


def enter_user_namespace(inside_uid: int, inside_gid: int) -> None:
    """Give this process a user namespace in which its user is `inside_uid`; raises OSError when refused."""
    uid, gid = os.getuid(), os.getgid()
    if _LIBC.unshare(_CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside_uid} {uid} 1"),
        ("gid_map", f"{inside_gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


@dataclass(frozen=True)
class Identity:
    """The rights the server runs under: `direct`, `userns` or `nobody`."""

    kind: str
    uid: int = 0
    gid: int = 0

    def take(self) -> None:
        """Become this identity; runs in a child between fork and exec."""
        if self.kind == "userns":
            enter_user_namespace(self.uid, self.gid)
        elif self.kind == "nobody":
            os.setgroups([])
            os.setgid(self.gid)
            os.setuid(self.uid)

    @property
    def owner(self) -> tuple[int, int]:
        """Who owns the data directory, as seen from outside."""
        return (self.uid, self.gid) if self.kind == "nobody" else (os.getuid(), os.getgid())

    def give(self, path: Path) -> None:
        """Hand a directory that we own, with its content, to this identity."""
        if self.kind == "direct" or path.lstat().st_uid == self.owner[0]:
            return
        for folder, names, files in os.walk(path):
            for name in (*names, *files):
                os.lchown(os.path.join(folder, name), *self.owner)
        os.lchown(path, *self.owner)

    def can_reach(self, path: Path) -> bool:
        """Whether this identity can get to the (perhaps not yet existing) path through its parents."""
        if self.kind != "nobody":
            return True
        existing = [parent for parent in path.absolute().parents if parent.exists()]
        return all(parent.stat().st_mode & stat.S_IXOTH for parent in existing)


@cache
def identity() -> Identity:
    """Decide once per process under which rights PostgreSQL can run."""
    if not hasattr(os, "getuid"):
        raise ServerError("the embedded server needs Linux or macOS; point --dsn at a PostgreSQL instead")
    if os.getuid() != 0:
        return Identity("direct")
    # Any account but root's will do inside the namespace; initdb wants it to have a name.
    accounts = [entry for entry in pwd.getpwall() if 0 < entry.pw_uid < 65534]
    ordinary = min(accounts, key=lambda entry: entry.pw_uid, default=None)
    if ordinary is not None:
        inside = Identity("userns", ordinary.pw_uid, max(ordinary.pw_gid, 1))
        if _LINUX and _works(inside):
            return inside
    nobody = pwd.getpwnam("nobody")
    outside = Identity("nobody", nobody.pw_uid, nobody.pw_gid)
    if not _works(outside):
        raise ServerError(
            "PostgreSQL refuses root, and this root can neither make a user namespace nor become nobody",
            hint="run as an ordinary user, or point --dsn at a PostgreSQL",
        )
    return outside


def _works(who: Identity) -> bool:
    """Try the identity on a program that does nothing."""
    try:
        return spawn(["/bin/sh", "-c", ":"], who).wait() == 0
    except (OSError, subprocess.SubprocessError):
        return False


def spawn(
    command: Sequence[str | Path],
    who: Identity,
    *,
    dies_with_parent: signal.Signals | None = None,
    output: IO[bytes] | int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program in its own session under `who`; on Linux the parent's death can end it.

    The death signal is set last, because changing credentials clears it; a parent that died before that is
    noticed by its changed process id.
    """
    parent = os.getpid()

    def prepare() -> None:
        who.take()
        if dies_with_parent is not None and _LINUX:
            _LIBC.prctl(_PR_SET_PDEATHSIG, int(dies_with_parent), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    needed: Callable[[], None] | None = prepare if who.kind != "direct" or dies_with_parent else None
    return subprocess.Popen(
        [os.fspath(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd="/",
        env=server_environment(),
        start_new_session=True,
        preexec_fn=needed,  # the launcher and its guard are single-threaded here
    )


def server_environment() -> dict[str, str]:
    """Our environment without libpq's variables, which would steer initdb and the server."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")}


def end(process: subprocess.Popen[bytes], *steps: tuple[signal.Signals, float]) -> None:
    """Ask a child to stop, ever less politely, until it has gone."""
    for number, patience in (*steps, (signal.SIGKILL, 10.0)):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def process_start(pid: int) -> str | None:
    """When a process started, in a form that no clock change alters; None when there is no such one."""
    if _LINUX:
        try:
            line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return None
        fields = line.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else f"{boot}:{fields[19]}"
    return _ps("lstart", pid).strip() or None


def command_line(pid: int) -> str:
    """The words a process was started with; empty when there is no such process."""
    if _LINUX:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    return _ps("command", pid)


def _ps(column: str, pid: int) -> str:
    """One column of the process table, for systems without /proc."""
    command = ["ps", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def is_postgres_on(pid: int, data: Path) -> bool:
    """Whether this pid is a PostgreSQL server whose data directory is `data` (and not a reused number).

    A container's root may not look into a process of `nobody`; what that was started with is open to all.
    """
    if _LINUX:
        try:
            program = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
            return os.path.basename(program) == "postgres" and os.path.samefile(f"/proc/{pid}/cwd", data)
        except PermissionError:
            pass
        except OSError:
            return False
    words = command_line(pid) + " "
    return "postgres" in words and f" -D {data} " in words


def reachable_installation(found: Installation, who: Identity) -> Installation:
    """The binaries themselves, or a copy that `nobody` may read when they lie in a private directory."""
    if who.kind != "nobody" or _readable_by_others(found.bindir / "postgres"):
        return found
    bundle = found.bundle or found.bindir.parent
    if not (bundle / "share").is_dir() or bundle in (Path("/usr"), Path("/usr/local")):
        hint = "make that directory readable to all"
        raise ServerError(f"the user nobody cannot read {found.bindir}", hint=hint)
    package = bundle.parent
    libraries = package.with_name(package.name + ".libs")
    base = _first_writable(_SHARED_CACHES)
    origin = hashlib.sha256(os.fsencode(bundle)).hexdigest()[:8]
    target = base / f"postgresql-{found.version}-{origin}"
    copy = Installation(target / package.name / bundle.name / "bin", found.version)
    if not (target / "complete").exists():
        part = Path(tempfile.mkdtemp(prefix="part-", dir=base))
        try:
            # The programs look for their libraries beside the package, so both keep their places.
            programs = part / package.name / bundle.name
            shutil.copytree(bundle, programs, symlinks=True, ignore=shutil.ignore_patterns("include"))
            if libraries.is_dir():
                shutil.copytree(libraries, part / libraries.name, symlinks=True)
            _open_for_reading(part)
            (part / "complete").touch(mode=0o644)
            shutil.rmtree(target, ignore_errors=True)
            part.rename(target)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            if not (target / "complete").exists():
                raise
    return copy


def make_directory(path: Path, who: Identity) -> None:
    """Make a directory with its parents: private ones, or ones that `nobody` can pass through."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755 if who.kind == "nobody" else 0o700)


def shared_home(who: Identity, wanted: Path) -> Path:
    """`wanted` when the server can get there, else a directory of the same meaning that it can reach."""
    if who.can_reach(wanted / "x"):
        return wanted
    return _first_writable(_SHARED_HOMES) / hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]


def _first_writable(candidates: Sequence[Path]) -> Path:
    """The first directory of ours that exists or can be made; root's own, readable to all."""
    for path in candidates:
        try:
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            continue
        if path.lstat().st_uid == os.getuid() and not path.is_symlink() and os.access(path, os.W_OK):
            path.chmod(0o755)
            return path
    raise ServerError(f"none of {', '.join(map(str, candidates))} can be written")


def _readable_by_others(program: Path) -> bool:
    wanted = stat.S_IROTH | stat.S_IXOTH
    real = program.resolve()
    return real.stat().st_mode & wanted == wanted and all(
        parent.stat().st_mode & stat.S_IXOTH for path in (program.absolute(), real) for parent in path.parents
    )


def _open_for_reading(tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        os.chmod(folder, 0o755)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.access(path, os.X_OK) else 0o644)


def wait_until(condition: Callable[[], bool], seconds: float, *, every: float = 0.02) -> bool:
    """Poll a condition against a deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
