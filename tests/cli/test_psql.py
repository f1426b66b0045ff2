"""dotq psql."""

from __future__ import annotations

import os
from pathlib import Path

from cli.support import Cli
from harness.backends import Backend


def test_psql_opens_the_same_database(cli: Cli, server: Backend, tmp_path: Path) -> None:
    (tmp_path / "psql").symlink_to(server.bin("psql"))
    job_id = cli.enqueue()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = ["-XAtc", "select job_id, current_setting('application_name') from dotq.job_queue"]
    for between in ([], ["--"]):
        ran = cli.spawn("psql", *between, *words, env={"PATH": path})
        assert (ran.code, ran.out) == (0, f"{job_id}|dotq-psql\n"), ran
    assert cli.spawn("psql", "-XAtc", "select 1/0", env={"PATH": path}).code == 1


def test_without_psql_on_path_the_embedded_one_is_used(cli: Cli, tmp_path: Path) -> None:
    ran = cli.spawn("psql", "-XAtc", "select 1", env={"PATH": str(tmp_path)})
    assert (ran.code, ran.out) == (0, "1\n"), ran


def test_a_password_travels_in_the_environment(cli: Cli, tmp_path: Path) -> None:
    psql = tmp_path / "psql"
    psql.write_text('#!/bin/sh\necho "$PGPASSWORD $PGHOST $PGDATABASE"\nfor word; do echo "$word"; done\n')
    psql.chmod(0o755)
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = cli.spawn("-d", "postgresql://joe:s3cret@there/x", "psql", "-d", "y", "-q", env=env)
    assert ran.out.splitlines() == ["s3cret there x", "-d", "y", "-q"]


def test_a_connection_string_that_cannot_be_read_is_not_repeated(cli: Cli) -> None:
    ran = cli.spawn("-d", "host=there password='s3cret", "psql")
    assert (ran.code, ran.out) == (3, "")
    assert "s3cret" not in ran.err
