"""PostgreSQL in a container, built from tests/docker/Dockerfile and run by testcontainers."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from docker.client import DockerClient
from docker.errors import APIError, BuildError, DockerException, ImageNotFound
from psycopg.conninfo import make_conninfo
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.image import DockerImage

from harness.backends import BackendError, client_program
from harness.waiting import wait_for

_FOLDER = Path(__file__).resolve().parents[1] / "docker"
_TAG = "dotq-test-postgres"
_DEFAULT_BASE = "postgres:18"
_PORT = 5432
_READY_SECONDS = 90.0
# Waits until the pipe closes, as it does when the test run ends in whatever way; then removes the container.
_WATCH = """
import sys, docker
sys.stdin.read()
try:
    docker.from_env().api.remove_container(sys.argv[1], v=True, force=True)
except docker.errors.NotFound:
    pass
"""


class Container:
    """A throw-away server in a container."""

    shared = False

    def __init__(self) -> None:
        self.base = os.environ.get("DOTQ_TEST_BASE") or _DEFAULT_BASE
        self._password = secrets.token_hex(12)
        self._container: DockerContainer | None = None
        self._watch: subprocess.Popen[bytes] | None = None
        self._address: dict[str, str] = {}

    def start(self) -> None:
        try:
            client = DockerClient.from_env()
            client.ping()
        except DockerException as error:
            raise BackendError(
                f"no container engine answers ({_short(error)}): start Docker or set DOCKER_HOST; "
                "`make test` needs no engine"
            ) from error
        _choose_reaper(client)
        self._build()
        container = DockerContainer(_TAG).with_env("DOTQ_TEST_PASSWORD", self._password)
        container.with_exposed_ports(_PORT)
        try:
            self._container = container.start()
        except DockerException as error:
            raise BackendError(f"the container does not start: {_short(error)}") from error
        identifier = container.get_wrapped_container().id
        self._watch = subprocess.Popen(
            [sys.executable, "-c", _WATCH, str(identifier)], stdin=subprocess.PIPE, start_new_session=True
        )
        self._address = {
            "host": container.get_container_host_ip(),
            "port": str(container.get_exposed_port(_PORT)),
        }
        try:
            wait_for(self._answers, "PostgreSQL in the container", seconds=_READY_SECONDS)
        except AssertionError as error:
            output = b"".join(container.get_logs()).decode(errors="replace").strip().splitlines()
            self.stop()
            raise BackendError(f"{error}; its last words: {output[-1] if output else 'none'}") from error

    def stop(self) -> None:
        if self._watch is not None:
            self._watch.communicate(timeout=60)
        self._watch = self._container = None

    def dsn(self, dbname: str | None = None) -> str:
        return make_conninfo(dbname=dbname or "postgres", user="postgres", password=self._password, **self._address)

    def bin(self, name: str) -> Path:
        return client_program(name, self.dsn())

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn(), connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def _build(self) -> None:
        """The image stays, so that the next run finds every layer in the engine's cache."""
        options: dict[str, Any] = {"buildargs": {"BASE": self.base}, "rm": True}
        network = os.environ.get("DOTQ_TEST_BUILD_NETWORK")
        if network:
            options["network_mode"] = network
        try:
            DockerImage(path=_FOLDER, tag=_TAG, clean_up=False, **options).build()
        except BuildError as error:
            lines = [str(entry.get("stream") or entry.get("error") or "").strip() for entry in error.build_log]
            told = [line for line in lines if line.startswith(("E:", "ERROR"))]
            raise BackendError(
                f"no image from {self.base}: {(told or [error.msg])[0]}; choose another BASE or `make test`"
            ) from error
        except APIError as error:
            raise BackendError(
                f"no image from {self.base}: {_short(error)}; choose another BASE or `make test`"
            ) from error


def _choose_reaper(client: DockerClient) -> None:
    """Let testcontainers run its reaper when that image can be had; our own watch works without it."""
    if os.environ.get("TESTCONTAINERS_RYUK_DISABLED"):
        return
    image = testcontainers_config.ryuk_image
    try:
        client.images.get(image)
    except ImageNotFound:
        try:
            client.images.pull(image)
        except DockerException:
            testcontainers_config.ryuk_disabled = True


def _short(error: Exception) -> str:
    """The engine's own words, on one line."""
    explanation = getattr(error, "explanation", None) or str(error)
    return " ".join(str(explanation).split())[:200]
