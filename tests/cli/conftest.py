"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.support import Cli
from harness.databases import Database


@pytest.fixture
def cli(db: Database, tmp_path: Path) -> Cli:
    """The command, on a queue whose gates are open."""
    return Cli(db.dsn, str(tmp_path / "home"))


@pytest.fixture
def nowhere(tmp_path: Path) -> Cli:
    """The command, with nothing that says where a database is."""
    return Cli(None, str(tmp_path / "home"))
