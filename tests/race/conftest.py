"""A race that goes wrong must end by itself."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_statement_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=60s")
