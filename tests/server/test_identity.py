"""PostgreSQL never runs as root, and root's private directories stay private."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dotq._server import EphemeralServer, find_installation
from dotq._server._process import identity, spawn

root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root has to step down")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="user namespaces are Linux's")

# Runs the rest of its arguments as root of a namespace in which the kernel refuses to make another one.
_REFUSE = """
import ctypes, os, sys
down, up = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        os._exit(77)
    os.write(up[1], b"x")
    os.read(down[0], 1)
    os.setgid(0)
    os.setuid(0)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    os.execvp(sys.argv[1], sys.argv[1:])
os.close(up[1])
if os.read(up[0], 1):
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{child}/{name}", "w") as file:
            file.write("0 0 65536")
    os.write(down[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
_TRY = """
import os, sys
sys.path[:0] = sys.argv[1:]
import psycopg
from dotq._server import EphemeralServer
from dotq._server._process import identity
with EphemeralServer() as server:
    with psycopg.connect(server.dsn()) as conn:
        conn.execute("create table t as select 1")
    print(identity().kind, os.stat(f"/proc/{server.pid}").st_uid, server.data.stat().st_uid)
    print(os.readlink(f"/proc/{server.pid}/exe"))
"""


def run(*command: str) -> list[str]:
    """What a program printed, line by line; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode == 77:
        pytest.skip("this machine refuses user namespaces altogether")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@root_only
@linux_only
def test_root_is_an_ordinary_user_inside_the_namespace() -> None:
    if identity().kind != "userns":
        pytest.skip("this machine refuses user namespaces")
    with EphemeralServer() as server:
        assert server.data is not None
        mapping = Path(f"/proc/{server.pid}/uid_map").read_text().split()
        assert mapping[0] != "0"
        assert mapping[1:] == ["0", "1"]
        assert server.data.stat().st_uid == 0
        assert server.data.stat().st_mode & 0o777 == 0o700


@root_only
@linux_only
def test_no_account_is_made_and_no_directory_is_opened(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    accounts = Path("/etc/passwd").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(closed))
        with EphemeralServer():
            assert closed.stat().st_mode & 0o777 == 0o700
    assert closed.stat().st_mode & 0o777 == 0o700
    assert Path("/etc/passwd").read_bytes() == accounts


@root_only
@linux_only
def test_server_becomes_nobody_where_namespaces_are_refused() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    kind, process, data = run(sys.executable, "-c", _REFUSE, sys.executable, "-c", _TRY, *sys.path)[0].split()
    assert (kind, int(process), int(data)) == ("nobody", nobody, nobody)


@root_only
@linux_only
def test_nobody_gets_a_copy_of_binaries_it_cannot_read(tmp_path: Path) -> None:
    installation = find_installation()
    if installation.bundle is None:
        pytest.skip("the binaries are not those of the wheel")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = installation.bundle.parent
    libraries = package.with_name(package.name + ".libs")
    shutil.copytree(installation.bundle, closed / package.name / installation.bundle.name, symlinks=True)
    (closed / package.name / "__init__.py").touch()
    if libraries.is_dir():
        shutil.copytree(libraries, closed / libraries.name, symlinks=True)
    lines = run(sys.executable, "-c", _REFUSE, sys.executable, "-c", _TRY, str(closed), *sys.path)
    assert lines[0].split()[0] == "nobody"
    assert not lines[1].startswith(str(closed))
    assert closed.stat().st_mode & 0o777 == 0o700


@root_only
def test_plain_user_runs_the_server_directly(tmp_path: Path) -> None:
    """As `nobody`, in a process that has no other rights; where it can read Python and the wheel at all."""
    probe = textwrap.dedent(
        """
        import os, sys
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        os.environ.update(HOME="/nonexistent", TMPDIR="/tmp")
        try:
            os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
        except OSError:
            os._exit(78)
        """
    )
    command = [sys.executable, "-c", probe, _TRY, *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, cwd="/")
    if done.returncode == 78:
        pytest.skip("this Python lies in a directory that only root can read")
    assert done.returncode == 0, done.stderr
    kind, process, data = done.stdout.splitlines()[0].split()
    assert (kind, process, data) == ("direct", "65534", "65534")


def test_environment_of_the_caller_does_not_steer_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PGDATA", "/nonexistent"), ("PGPORT", "1"), ("PGOPTIONS", "-c no_such=1")):
        monkeypatch.setenv(name, value)
    with EphemeralServer() as server:
        assert server.dsn().endswith("port=5432")


def test_identity_is_taken_by_the_child_only() -> None:
    before = os.getuid(), os.geteuid()
    assert spawn(["/bin/sh", "-c", ":"], identity()).wait() == 0
    assert (os.getuid(), os.geteuid()) == before
