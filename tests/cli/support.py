"""The command as people type it: inside this process where that is enough, else in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from dotq.cli import main

COMMAND = [sys.executable, "-c", "from dotq.cli import main; main(prog_name='dotq')"]
NO_ID = "01998d2e-5c1a-7f00-8000-3c5e1f0a9b11"


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


class Cli:
    """`dotq`, on one database."""

    def __init__(self, dsn: str | None, home: str) -> None:
        self.env: dict[str, str | None] = {
            name: None for name in os.environ if name.startswith(("DOTQ_", "PG")) and name != "DOTQ_PG_BIN"
        }
        self.env |= {"DATABASE_URL": None, "NO_COLOR": None, "DOTQ_HOME": home, "DOTQ_DATABASE_URL": dsn}

    def run(self, *words: object, stdin: str = "", env: Mapping[str, str | None] | None = None) -> Ran:
        """Run a command; an exception that is no exit is a failure of the test."""
        result = CliRunner().invoke(
            main,
            [str(word) for word in words],
            input=stdin,
            env={**self.env, **(env or {})},
            prog_name="dotq",
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def ok(self, *words: object, stdin: str = "", env: Mapping[str, str | None] | None = None) -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*words, stdin=stdin, env=env)
        assert ran.code == 0, ran
        return ran

    def json(self, *words: object, stdin: str = "") -> Any:
        """Run a command that must succeed, with --json behind it."""
        return self.ok(*words, "--json", stdin=stdin).json

    def refused(self, code: int, *words: object, stdin: str = "") -> str:
        """Run a command that must fail with one line (and a hint) and print no data; returns stderr."""
        ran = self.run(*words, stdin=stdin)
        assert (ran.code, ran.out) == (code, ""), ran
        lines = ran.err.splitlines()
        assert "Traceback" not in ran.err
        assert any(line.startswith(("dotq: ", "Error: ")) for line in lines), ran
        return ran.err

    def enqueue(self, kind: str = "report", *words: object) -> str:
        """A job's id."""
        return self.ok("-q", "enqueue", kind, *words).out.strip()

    def claim(self, kind: str = "report", *words: object) -> dict[str, Any]:
        """A claimed job."""
        job = self.json("claim", "--worker", "w1", "--kind", kind, *words)
        assert isinstance(job, dict)
        return job

    def bury(self, kind: str = "report", *words: object, error: str = "boom") -> tuple[str, str]:
        """A job that ended badly: its id and its dead letter's."""
        self.enqueue(kind, *words)
        job = self.claim(kind)
        failed = self.json("fail", job["job_id"], "--lease", job["lease"], "--error", error, "--no-retry")
        return job["job_id"], failed["dead_letter_id"]

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a process of its own."""
        base = {name: value for name, value in os.environ.items() if name not in self.env}
        given = {name: value for name, value in self.env.items() if value is not None}
        return {**base, **given, **more}

    def start(self, *words: object, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        """The command in a process of its own, not waited for."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        command = [*COMMAND, *[str(word) for word in words]]
        return subprocess.Popen(command, env=self.environment(**(env or {})), text=True, **options)

    def spawn(self, *words: object, env: Mapping[str, str] | None = None, **options: Any) -> Ran:
        """The command in a process of its own."""
        with self.start(*words, env=env, **options) as process:
            out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out or "", err or "")
