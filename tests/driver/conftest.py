"""What the tests of the driver share."""

from __future__ import annotations

import pytest

from dotq import AsyncClient
from driver.support import open_client
from harness.databases import Database


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two clients."""
    return str(request.param)


@pytest.fixture
async def client(db: Database, kind: str) -> AsyncClient:
    """A client of a queue whose gates are open: each test runs with either."""
    return await open_client(db, kind)
