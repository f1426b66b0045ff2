"""Fixtures: a server for the run, a fresh database for each test; and pgTAP files as tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends import Backend, BackendError
from harness.collector import PgTapFile, PgTapItem
from harness.databases import Database, Harness, HarnessError

_HARNESS = pytest.StashKey[Harness]()
_ASSERTIONS = pytest.StashKey[list[int]]()


def _harness(config: pytest.Config) -> Harness:
    """The one harness of this run; without a server there is nothing to test, so the run ends at once."""
    if _HARNESS not in config.stash:
        try:
            harness = Harness()
            config.stash[_HARNESS] = harness
            harness.start()
        except (BackendError, HarnessError) as error:
            pytest.exit(f"no test server: {error}", returncode=3)
    return config.stash[_HARNESS]


PgTapItem.harness = staticmethod(_harness)


def pytest_configure(config: pytest.Config) -> None:
    # A run started in the background of a script inherits an ignored Ctrl-C, and so would every program under test.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[_ASSERTIONS] = []


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HARNESS in config.stash:
        config.stash[_HARNESS].stop()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".sql" and file_path.parent.name == "pgtap":
        return PgTapFile.from_parent(parent, path=file_path)
    return None


def pytest_runtest_teardown(item: pytest.Item) -> None:
    if isinstance(item, PgTapItem):
        item.config.stash[_ASSERTIONS].append(item.assertions)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _HARNESS in config.stash:
        terminalreporter.write_line(f"Server: {config.stash[_HARNESS].description}")
    counts = config.stash[_ASSERTIONS]
    if counts:
        terminalreporter.write_line(f"pgTAP: {sum(counts)} assertions passed in {len(counts)} files")


@pytest.fixture(scope="session")
def harness(pytestconfig: pytest.Config) -> Harness:
    """The shared ground itself, for tests that need more than the fixtures below."""
    return _harness(pytestconfig)


@pytest.fixture(scope="session")
def server(harness: Harness) -> Backend:
    """The test server: .dsn(dbname), .bin(program)."""
    return harness.backend


def _clone(harness: Harness, template: str) -> Iterator[Database]:
    try:
        name = getattr(harness, template)
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    with harness.clone(name) as database:
        yield database


@pytest.fixture
def db(harness: Harness) -> Iterator[Database]:
    """A fresh database with dotq installed and its gates open."""
    yield from _clone(harness, "open_template")


@pytest.fixture
def bare_db(harness: Harness) -> Iterator[Database]:
    """A fresh database with dotq as the installation leaves it: gates closed."""
    yield from _clone(harness, "bare_template")


@pytest.fixture
def empty_db(harness: Harness) -> Iterator[Database]:
    """A fresh database without dotq."""
    with harness.clone("template0") as database:
        yield database
