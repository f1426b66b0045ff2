"""What the tests of install and upgrade share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dotq._server import EphemeralServer
from migrate.support import Cluster, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small release of its own, to change at will."""
    return Tree(tmp_path / "sql")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server that has never seen dotq's roles."""
    with EphemeralServer(os.environ.get("DOTQ_TEST_PG") or None) as server:
        yield Cluster(server)
