"""An embedded PostgreSQL: the binaries come from a wheel, the launcher is our own.

Two kinds of server: the *dev* server outlives the shell that started it; an *ephemeral* one ends with the
process that asked for it, however that process ends.
"""

from __future__ import annotations

from dotq._server._binaries import Installation, ServerError, find_installation, find_psql
from dotq._server._dev import DevServer, DevStatus, running_dev_dsn
from dotq._server._ephemeral import EphemeralServer

__all__ = [
    "DevServer",
    "DevStatus",
    "EphemeralServer",
    "Installation",
    "ServerError",
    "find_installation",
    "find_psql",
    "running_dev_dsn",
]
