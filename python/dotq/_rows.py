"""What the functions and views of dotq answer, one frozen type each; the fields are SQL's columns and keys.

A newer database may answer more than a type lists; what is not listed is not asked for.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dotq._errors import PayloadUndecodable


@dataclass(frozen=True, slots=True)
class Json:
    """A jsonb value as the server wrote it, decoded when somebody asks for it.

    So a value that Python cannot read (nested too deeply, a number of ten thousand digits) fails whoever
    reads it, and not the claim that brought it along with ninety-nine others.
    """

    text: str

    @property
    def value(self) -> Any:
        """The value as a Python object; raises PayloadUndecodable."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise PayloadUndecodable(f"the JSON cannot be read: {error}") from error


def as_dict(row: Any) -> dict[str, Any]:
    """A row as a dictionary under SQL's names, with its JSON decoded and the rows in it turned likewise."""
    return {field.name: _plain(getattr(row, field.name)) for field in dataclasses.fields(row)}


def _plain(value: Any) -> Any:
    if isinstance(value, Json):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return as_dict(value) if dataclasses.is_dataclass(value) else value


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A job that is durable once the caller commits; `duplicate` when an earlier one has its key."""

    job_id: UUID
    state: str
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job; `lease` is the handle that every later call about it takes."""

    job_id: UUID
    job_kind: str
    attempts: int
    max_attempts: int
    payload_json: Json
    lease: str
    lease_until: datetime
    priority: int
    scheduled_at: datetime
    created_at: datetime
    idempotency_key: str
    actor: str
    source_ref: str | None
    target_ref: str | None
    payload_ref: str | None
    run_id: UUID | None
    workflow_id: UUID | None
    replay_of: UUID | None
    affinity_key: str | None
    metadata: Json
    progress: Json | None
    checkpoint: Json | None
    crash_count: int
    last_error: str | None

    @property
    def payload(self) -> Any:
        """The payload as a Python object; raises PayloadUndecodable, for this job alone."""
        return self.payload_json.value


@dataclass(frozen=True, slots=True)
class Claim:
    """A job, or why there is none: the reason begins with empty, no_kind or gate_closed."""

    job: Job | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Started:
    """A job that is marked as being worked on."""

    job_id: UUID
    state: str
    lease_until: datetime
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A renewed lease, and whether to stop: this job (`cancel_requested`) or taking more (`drain`)."""

    job_id: UUID
    lease_until: datetime
    cancel_requested: bool
    drain: bool


@dataclass(frozen=True, slots=True)
class Ack:
    """A finished job; `duplicate` when the same lease had finished it before."""

    job_id: UUID
    state: str
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """What follows a failed attempt: a retry at `scheduled_at`, or the end with `dead_letter_id`."""

    job_id: UUID
    state: str
    attempts: int
    max_attempts: int
    scheduled_at: datetime | None
    dead_letter_id: UUID | None


@dataclass(frozen=True, slots=True)
class Released:
    """A job that was handed back."""

    job_id: UUID
    state: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A cancelled job, or a running one that was asked to stop and is fenced off at `forced_at`."""

    job_id: UUID
    state: str
    cancel_requested: bool
    forced_at: datetime | None


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """A waiting job with its new time and priority."""

    job_id: UUID
    state: str
    scheduled_at: datetime
    priority: int


@dataclass(frozen=True, slots=True)
class Buried:
    """A job that an operator made a dead letter."""

    job_id: UUID
    state: str
    dead_letter_id: UUID


@dataclass(frozen=True, slots=True)
class JobDetail:
    """One job with everything that is kept about it."""

    job_id: UUID
    job_kind: str
    state: str
    source_ref: str | None
    target_ref: str | None
    payload_ref: str | None
    payload_json: Json
    priority: int
    scheduled_at: datetime
    picked_at: datetime | None
    finished_at: datetime | None
    lease_owner: str | None
    lease_until: datetime | None
    attempts: int
    max_attempts: int
    idempotency_key: str
    actor: str
    run_id: UUID | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    lease_token: int | None
    lease_seconds: int | None
    started_at: datetime | None
    crash_count: int
    cancel_requested_at: datetime | None
    cancel_requested_by: str | None
    progress: Json | None
    checkpoint: Json | None
    result: Json | None
    metadata: Json
    affinity_key: str | None
    workflow_id: UUID | None
    replay_of: UUID | None
    key_retained: bool
    lease: str | None
    dead_letter_id: UUID | None
    replayed_as: UUID | None

    @property
    def payload(self) -> Any:
        """The payload as a Python object; raises PayloadUndecodable."""
        return self.payload_json.value


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One line of a list of jobs."""

    job_id: UUID
    job_kind: str
    state: str
    priority: int
    attempts: int
    max_attempts: int
    created_at: datetime
    scheduled_at: datetime
    lease_owner: str | None
    lease_until: datetime | None
    finished_at: datetime | None
    idempotency_key: str
    actor: str
    last_error: str | None


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason why a job is not running, and the statement that lifts it."""

    place: int
    blocker: str
    detail: str
    remedy: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One moment in the life of a job."""

    at: datetime
    event: str
    actor: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Triage:
    """A dead letter whose status was changed."""

    dead_letter_id: UUID
    job_id: UUID
    old_status: str
    status: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A dead letter that has a new job."""

    dead_letter_id: UUID
    job_id: UUID
    replay_of: UUID


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """What became of one dead letter in a replay by filter, or would become of it."""

    dead_letter_id: UUID
    job_kind: str
    final_error: str
    outcome: str
    job_id: UUID | None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting before and after."""

    key: str
    old_value: str | None
    value: str


@dataclass(frozen=True, slots=True)
class KindPolicy:
    """The policy of one kind as it is stored; None where what is configured for all kinds counts."""

    job_kind: str
    enabled: bool
    paused_at: datetime | None
    paused_until: datetime | None
    paused_by: str | None
    pause_reason: str | None
    default_priority: int
    max_attempts: int | None
    lease_seconds: int | None
    backoff_strategy: str
    backoff_base_sec: int | None
    backoff_cap_sec: int | None
    backoff_jitter: float
    on_crash: str
    crash_limit: int | None
    dedupe: str
    payload_schema: Json | None
    max_payload_bytes: int | None
    owner_agent: str | None
    description: str | None
    registered_by: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class KindPaused:
    """A kind that is no longer handed out."""

    job_kind: str
    paused: bool
    until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class KindResumed:
    """A kind that is handed out again."""

    job_kind: str
    paused: bool
    was_paused: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """An executor's sign of life; `ok` is false, with the reason, while its gate is closed."""

    ok: bool
    executor_name: str
    last_tick_at: datetime | None
    ticks_total: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class StaleExecutor:
    """An executor that has not ticked for too long."""

    executor_name: str
    executor_kind: str
    last_tick_at: datetime
    seconds_since_tick: int
    current_job_id: UUID | None


@dataclass(frozen=True, slots=True)
class StaleCheck:
    """The executors that have not ticked for longer than the threshold."""

    threshold_seconds: int
    stale_count: int
    stale: tuple[StaleExecutor, ...]


@dataclass(frozen=True, slots=True)
class WorkerRegistered:
    """A worker that is on the list."""

    worker_id: str
    started_at: datetime
    last_heartbeat_at: datetime


@dataclass(frozen=True, slots=True)
class WorkerDeregistered:
    """A worker that is off the list, with the leases it still holds."""

    worker_id: str
    was_registered: bool
    leases_held: int


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads a duty, in which term, until when."""

    duty: str
    is_leader: bool
    leader: str
    term: int
    leader_until: datetime


@dataclass(frozen=True, slots=True)
class Reaped:
    """Leases that were taken back, by what became of their jobs; no counts behind a closed gate."""

    reaped: int
    requeued: int | None
    dead_lettered: int | None
    held: int | None
    cancelled: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What maintenance did; nothing (`ran` is false) when another worker leads it."""

    ran: bool
    leader: str
    term: int
    workers_removed: int | None
    reap: Reaped | None


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold."""

    invariant: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The verdict (ok, warning, critical) with its reasons in words, and the numbers behind it."""

    verdict: str
    reasons: tuple[str, ...]
    ready_count: int
    delayed_count: int
    running_count: int
    expired_lease_count: int
    oldest_ready_seconds: float | None
    dead_letter_pending_count: int
    fresh_executor_count: int
    stale_executor_count: int
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """One executor beside the state of the whole queue; without executors, one row that names none."""

    executor_name: str | None
    executor_kind: str | None
    last_tick_at: datetime | None
    last_tick_status: str | None
    seconds_since_tick: float | None
    freshness: str | None
    ticks_total: int | None
    current_job_id: UUID | None
    lease_owner: str | None
    queued_count: int
    leased_count: int
    in_progress_count: int
    succeeded_count: int
    failed_count: int
    retry_waiting_count: int
    dead_letter_count: int
    cancelled_count: int
    cleaned_count: int
    dead_letter_pending_count: int
    dead_letter_open_count: int
    stale_threshold_seconds: int
    gate_job_substrate: bool
    gate_worker: bool
    gate_notify: bool
    gate_heartbeat: bool
    gate_enqueue: bool
    gate_claim: bool
    unreadable_settings: tuple[str, ...] | None
    expired_lease_count: int
    oldest_ready_at: datetime | None
    oldest_ready_seconds: float | None
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """Jobs of one kind in one state."""

    job_kind: str
    state: str
    row_count: int
    oldest_created_at: datetime
    newest_created_at: datetime
    next_scheduled_at: datetime | None
    avg_attempts: float
    max_attempts: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter as the triage desk shows it; the payload is Json."""

    dead_letter_id: UUID
    job_id: UUID
    task_type: str
    agent_name: str | None
    triage_status: str
    cause: str
    error_message: str
    error_fingerprint: str
    payload: Json
    payload_ref: str | None
    source_ref: str | None
    target_ref: str | None
    attempts: int
    max_attempts: int
    crash_count: int
    idempotency_key: str
    actor: str
    run_id: UUID | None
    workflow_id: UUID | None
    job_created_at: datetime
    moved_at: datetime
    moved_by: str
    triage_note: str | None
    triaged_at: datetime | None
    triaged_by: str | None
    replayed_as: UUID | None


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead letters of one kind with the same error."""

    job_kind: str
    error_fingerprint: str
    row_count: int
    open_count: int
    first_moved_at: datetime
    last_moved_at: datetime
    sample_id: UUID
    sample_error: str


@dataclass(frozen=True, slots=True)
class DeadLetterSummary:
    """Dead letters of one kind in one triage status."""

    job_kind: str
    triage_status: str
    row_count: int
    distinct_errors: int
    oldest_moved_at: datetime
    newest_moved_at: datetime
    max_attempts: int


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job whose lease ran out, or whose cancellation is overdue."""

    job_id: UUID
    job_kind: str
    state: str
    lease_owner: str
    lease_until: datetime
    overdue_seconds: float
    attempts: int
    max_attempts: int
    crash_count: int
    picked_at: datetime
    cancel_requested_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class RecentJob:
    """A job that ended in the last hour."""

    job_id: UUID
    job_kind: str
    state: str
    attempts: int
    created_at: datetime
    picked_at: datetime | None
    finished_at: datetime
    wait_seconds: float | None
    run_seconds: float | None


@dataclass(frozen=True, slots=True)
class FleetWorker:
    """A registered worker, what it takes and holds."""

    worker_id: str
    hostname: str
    version: str | None
    status: str
    started_at: datetime
    last_heartbeat_at: datetime
    seconds_since_heartbeat: float
    pool_size: int
    leases_held: int
    oldest_picked_at: datetime | None
    kinds: tuple[str, ...] | None
    affinity_keys: tuple[str, ...]
    leads: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Kind:
    """The policy of one kind, with what is configured for all filled in."""

    job_kind: str
    status: str
    paused_until: datetime | None
    paused_by: str | None
    pause_reason: str | None
    default_priority: int
    max_attempts: int
    lease_seconds: int
    backoff_strategy: str
    backoff_base_sec: int | None
    backoff_cap_sec: int | None
    backoff_jitter: float
    on_crash: str
    crash_limit: int | None
    dedupe: str
    has_schema: bool
    max_payload_bytes: int
    owner_agent: str | None
    description: str | None
    registered_by: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Setting:
    """A gate or setting: the stored value and the one that counts."""

    key: str
    value: str | None
    effective: str
    value_type: str
    allowed: str
    readable: bool
    is_gate: bool
    description: str | None
    updated_at: datetime | None
    updated_by: str | None


@dataclass(frozen=True, slots=True)
class SettingAudit:
    """One change of a gate, a setting or a kind."""

    audit_id: int
    changed_at: datetime
    key: str
    old_value: str | None
    new_value: str | None
    changed_by: str
    login: str


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A SQLSTATE that dotq raises, what it means and what to do."""

    code: str
    name: str
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A function, view or table of dotq."""

    object_type: str
    name: str
    arguments: str | None
    returns: str | None
    security: str | None
    granted_to: str | None
    description: str | None
