"""Make .venv and install dotq into it, on a machine with nothing but Python; do nothing when all is there.

Usage: bootstrap.py dev|test|check. Needs the standard library only; a Python that is too old is told so.
"""

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "dotq-stamp.json")
LEVELS = ["dev", "test", "check"]
OLDEST = (3, 10)
NEWER = ["python3.14", "python3.13", "python3.12", "python3.11", "python3.10"]


class Failure(Exception):
    """The environment cannot be made; the message is for the user."""


def main() -> None:
    level = sys.argv[1] if len(sys.argv) > 1 else "test"
    if level not in LEVELS:
        raise Failure("usage: bootstrap.py " + "|".join(LEVELS))
    if sys.version_info < OLDEST:
        use_newer_python()
    have = read_stamp()
    fingerprint = current_fingerprint()
    if have.get("fingerprint") == fingerprint and LEVELS.index(have["level"]) >= LEVELS.index(level):
        return
    if have.get("fingerprint") == fingerprint or have.get("level") in LEVELS:
        level = LEVELS[max(LEVELS.index(level), LEVELS.index(have.get("level", level)))]
    if not interpreter_works():
        make_venv()
    say(f"installing dotq[{level}] into .venv")
    pip("install", "--quiet", "--disable-pip-version-check", "--editable", f".[{level}]")
    part = STAMP + ".part"
    with open(part, "w") as file:
        json.dump({"fingerprint": fingerprint, "level": level}, file)
    os.replace(part, STAMP)


def say(text: str) -> None:
    print("dotq: " + text, flush=True)


def use_newer_python() -> None:
    """Carry on under a Python that is new enough, if this machine has one."""
    for name in NEWER:
        path = shutil.which(name)
        if path and run([path, "-c", "import venv"])[0] == 0:
            os.execv(path, [path, *sys.argv])
    raise Failure(
        "Python {}.{} or newer is needed, this is {}.{}; say which one: make PYTHON=/path/to/python3".format(
            *(OLDEST + tuple(sys.version_info[:2]))
        )
    )


def current_fingerprint() -> str:
    """What the installation depends on: pyproject.toml, and where it stands."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        digest = hashlib.sha256(file.read())
    digest.update(ROOT.encode())
    return digest.hexdigest()


def read_stamp() -> "dict[str, str]":
    if not interpreter_works():
        return {}
    try:
        with open(STAMP) as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}


def interpreter_works() -> bool:
    """False also for an environment whose Python has been removed or moved."""
    return os.path.exists(PYTHON) and os.access(PYTHON, os.X_OK)


def make_venv() -> None:
    say("making .venv with Python {}.{}".format(*sys.version_info[:2]))
    shutil.rmtree(VENV, ignore_errors=True)
    code, output = run([sys.executable, "-m", "venv", VENV])
    if code == 0 and pip_works():
        return
    say("this Python has no ensurepip; looking for pip elsewhere")
    shutil.rmtree(VENV, ignore_errors=True)
    code, output = run([sys.executable, "-m", "venv", "--without-pip", VENV])
    if code != 0:
        raise Failure("python -m venv failed: " + last_line(output))
    for way in (pip_of_this_python, pip_of_the_system, pip_from_uv, pip_from_apt):
        if way() and pip_works():
            return
    shutil.rmtree(VENV, ignore_errors=True)
    raise Failure("no pip to be had: install it for this Python (Debian, Ubuntu: apt-get install python3-venv)")


def pip_works() -> bool:
    return run([PYTHON, "-m", "pip", "--version"])[0] == 0


def pip_of_this_python() -> bool:
    """The pip outside of the environment downloads one for the inside."""
    if run([sys.executable, "-m", "pip", "--version"])[0] != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "pip"]
        return run(command)[0] == 0 and install_from_wheel(folder)


def pip_of_the_system() -> bool:
    """Debian keeps pip's wheel apart from Python."""
    return install_from_wheel("/usr/share/python-wheels")


def pip_from_uv() -> bool:
    uv = shutil.which("uv")
    return uv is not None and run([uv, "pip", "install", "--quiet", "--python", PYTHON, "pip"])[0] == 0


def pip_from_apt() -> bool:
    """apt can download a package without root, with the system's lists or with private ones."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return False
    with tempfile.TemporaryDirectory() as folder:
        state, cache = os.path.join(folder, "state"), os.path.join(folder, "cache")
        os.makedirs(os.path.join(state, "lists", "partial"))
        os.makedirs(os.path.join(cache, "archives", "partial"))
        private = []  # type: list[str]
        for option in (
            "Dir::State=" + state,
            "Dir::State::status=/var/lib/dpkg/status",
            "Dir::Cache=" + cache,
            "APT::Sandbox::User=" + ("root" if os.getuid() == 0 else ""),
        ):
            private += ["-o", option]
        for options in ([], private):
            if options:
                run(["apt-get", *options, "-qq", "update"], cwd=folder)
            if run(["apt-get", *options, "-qq", "download", "python3-pip-whl"], cwd=folder)[0] == 0:
                break
        archives = glob.glob(os.path.join(folder, "*.deb"))
        if not archives or run(["dpkg-deb", "-x", archives[0], folder])[0] != 0:
            return False
        return install_from_wheel(os.path.join(folder, "usr", "share", "python-wheels"))


def install_from_wheel(folder: str) -> bool:
    """A pip wheel runs as it is: it is a zip file with a program in it."""
    wheels = sorted(glob.glob(os.path.join(folder, "pip-*.whl")))
    if not wheels:
        return False
    command = [PYTHON, os.path.join(wheels[-1], "pip"), "install", "--quiet", "--no-index", wheels[-1]]
    return run(command)[0] == 0


def pip(*arguments: str) -> None:
    code, output = run([PYTHON, "-m", "pip", *arguments], cwd=ROOT)
    if code != 0:
        sys.stderr.write(output)
        raise Failure("pip could not install dotq (its output is above)")


def run(command: "list[str]", cwd: "str | None" = None) -> "tuple[int, str]":
    """The exit code and everything printed; a program that is not there counts as failed."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode(errors="replace")


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit("dotq: " + str(failure))
    except KeyboardInterrupt:
        sys.exit(130)
