"""dotq: a job queue that lives inside PostgreSQL; here is its thin driver.

with psycopg.connect() as conn:
    Client(conn).job_enqueue("report", "billing", payload_json={"month": "2025-01"})
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dotq import _errors as errors
from dotq._errors import DotqError

if TYPE_CHECKING:
    from dotq._aclient import AsyncClient
    from dotq._calls import PRIORITIES
    from dotq._client import Client
    from dotq._commit import indeterminate_commit_guard
    from dotq._rows import (
        Ack,
        Backlog,
        Blocker,
        Buried,
        Cancelled,
        CatalogEntry,
        Claim,
        DeadLetter,
        DeadLetterGroup,
        DeadLetterSummary,
        Enqueued,
        ErrorCode,
        Event,
        Failure,
        FleetWorker,
        Heartbeat,
        Job,
        JobDetail,
        JobSummary,
        Json,
        Kind,
        KindPaused,
        KindPolicy,
        KindResumed,
        Leadership,
        Maintenance,
        QueueHealth,
        QueueStatus,
        Reaped,
        RecentJob,
        Released,
        Replay,
        ReplayOutcome,
        Rescheduled,
        Setting,
        SettingAudit,
        SettingChange,
        StaleCheck,
        StaleExecutor,
        Started,
        StuckJob,
        Tick,
        Triage,
        Violation,
        WorkerDeregistered,
        WorkerRegistered,
        as_dict,
    )

    __version__: str

__all__ = [
    "PRIORITIES",
    "Ack",
    "AsyncClient",
    "Backlog",
    "Blocker",
    "Buried",
    "Cancelled",
    "CatalogEntry",
    "Claim",
    "Client",
    "DeadLetter",
    "DeadLetterGroup",
    "DeadLetterSummary",
    "DotqError",
    "Enqueued",
    "ErrorCode",
    "Event",
    "Failure",
    "FleetWorker",
    "Heartbeat",
    "Job",
    "JobDetail",
    "JobSummary",
    "Json",
    "Kind",
    "KindPaused",
    "KindPolicy",
    "KindResumed",
    "Leadership",
    "Maintenance",
    "QueueHealth",
    "QueueStatus",
    "Reaped",
    "RecentJob",
    "Released",
    "Replay",
    "ReplayOutcome",
    "Rescheduled",
    "Setting",
    "SettingAudit",
    "SettingChange",
    "StaleCheck",
    "StaleExecutor",
    "Started",
    "StuckJob",
    "Tick",
    "Triage",
    "Violation",
    "WorkerDeregistered",
    "WorkerRegistered",
    "__version__",
    "as_dict",
    "errors",
    "indeterminate_commit_guard",
]

_HOME = {
    "AsyncClient": "dotq._aclient",
    "Client": "dotq._client",
    "PRIORITIES": "dotq._calls",
    "indeterminate_commit_guard": "dotq._commit",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: the import of dotq itself loads no psycopg."""
    if name == "__version__":
        return import_module("dotq._migrate").release_version()
    if name not in __all__:
        raise AttributeError(f"module 'dotq' has no attribute {name!r}")
    return getattr(import_module(_HOME.get(name, "dotq._rows")), name)


def __dir__() -> list[str]:
    return __all__
