"""The driver for asyncio, made from _client.py by tests/driver/twin.py: change it there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from dotq import _rows as r
from dotq._calls import Call, Names, answer, clock, jsonb, priority_number, rows, scalar, view
from dotq._errors import translate
from dotq._sqlfiles import DEFAULT_SCHEMA, check_schema_name

T = TypeVar("T")
Id = UUID | str
Connection = psycopg.AsyncConnection[Any]


class AsyncClient:
    """The functions and views of dotq as methods. It never begins, commits or rolls back, and keeps no state.

    An argument left as None is not sent, so that SQL's default stays. Errors of dotq's functions are raised
    as the classes of `dotq.errors`, caused by psycopg's; any other error is psycopg's own.
    """

    def __init__(self, conn: Connection, *, schema: str = DEFAULT_SCHEMA) -> None:
        self.conn = conn
        self.schema = check_schema_name(schema)

    async def _run(self, call: Call[T]) -> T:
        """Send one call; its errors become dotq's own where they are."""
        try:
            async with psycopg.AsyncCursor(self.conn, row_factory=tuple_row) as cursor:
                await cursor.execute(call.statement, call.arguments, binary=True)
                return call.read(await cursor.fetchall())
        except psycopg.Error as error:
            known = translate(error)
            if known is error:
                raise
            raise known from error

    # Jobs

    async def job_enqueue(
        self,
        job_kind: str,
        actor: str,
        *,
        idempotency_key: str | None = None,
        payload_json: Mapping[str, Any] | r.Json | None = None,
        source_ref: str | None = None,
        target_ref: str | None = None,
        payload_ref: str | None = None,
        priority: int | str | None = None,
        scheduled_at: datetime | None = None,
        max_attempts: int | None = None,
        run_id: Id | None = None,
    ) -> r.Enqueued:
        """Add a job in the caller's transaction; with the key of an active job, get that one."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_enqueue",
                r.Enqueued,
                {"job_kind": job_kind, "actor": actor},
                idempotency_key=idempotency_key,
                payload_json=jsonb("payload_json", payload_json),
                source_ref=source_ref,
                target_ref=target_ref,
                payload_ref=payload_ref,
                priority=priority_number(priority),
                scheduled_at=scheduled_at,
                max_attempts=max_attempts,
                run_id=run_id,
            )
        )

    async def job_claim(
        self, worker_id: str, *, lease_seconds: int | None = None, allowed_kinds: Names | None = None
    ) -> r.Claim:
        """Lease the most urgent job that is due, or learn why there is none."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_claim",
                r.Claim,
                {"worker_id": worker_id},
                lease_seconds=lease_seconds,
                allowed_kinds=allowed_kinds,
            )
        )

    async def job_claim_many(
        self,
        worker_id: str,
        limit: int,
        *,
        lease_seconds: int | None = None,
        allowed_kinds: Names | None = None,
        affinity_keys: Names | None = None,
    ) -> list[r.Job]:
        """Lease up to `limit` jobs that are due, most urgent first."""
        return await self._run(
            rows(
                self.schema,
                "fn_job_claim_many",
                r.Job,
                {"worker_id": worker_id, "limit": limit},
                lease_seconds=lease_seconds,
                allowed_kinds=allowed_kinds,
                affinity_keys=affinity_keys,
            )
        )

    async def job_start(self, job_id: Id, lease: str) -> r.Started:
        """Mark a leased job as being worked on."""
        return await self._run(answer(self.schema, "fn_job_start", r.Started, {"job_id": job_id, "lease": lease}))

    async def job_heartbeat(
        self,
        job_id: Id,
        lease: str,
        *,
        lease_seconds: int | None = None,
        progress: object = None,
        checkpoint: object = None,
    ) -> r.Heartbeat:
        """Renew a lease, store progress and checkpoint, and learn whether to stop."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_heartbeat",
                r.Heartbeat,
                {"job_id": job_id, "lease": lease},
                lease_seconds=lease_seconds,
                progress=jsonb("progress", progress),
                checkpoint=jsonb("checkpoint", checkpoint),
            )
        )

    async def job_ack(self, job_id: Id, lease: str, *, result: object = None) -> r.Ack:
        """Finish a job as succeeded."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_ack",
                r.Ack,
                {"job_id": job_id, "lease": lease},
                result=jsonb("result", result),
            )
        )

    async def job_fail_or_retry(
        self, job_id: Id, lease: str, error: str, *, retryable: bool | None = None
    ) -> r.Failure:
        """Report that an attempt failed; the queue decides what follows."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_fail_or_retry",
                r.Failure,
                {"job_id": job_id, "lease": lease, "error": error},
                retryable=retryable,
            )
        )

    async def job_release(self, job_id: Id, lease: str) -> r.Released:
        """Hand back a job that was not started or was interrupted; the attempt is given back."""
        return await self._run(answer(self.schema, "fn_job_release", r.Released, {"job_id": job_id, "lease": lease}))

    async def job_cancel(self, job_id: Id, actor: str, *, reason: str | None = None) -> r.Cancelled:
        """Cancel a waiting job at once; ask a running one to stop."""
        return await self._run(
            answer(self.schema, "fn_job_cancel", r.Cancelled, {"job_id": job_id, "actor": actor}, reason=reason)
        )

    async def job_reschedule(
        self,
        job_id: Id,
        actor: str,
        *,
        scheduled_at: datetime | None = None,
        priority: int | str | None = None,
    ) -> r.Rescheduled:
        """Move a waiting job to another time, by default now, and to another priority if one is given."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_reschedule",
                r.Rescheduled,
                {"job_id": job_id, "actor": actor},
                scheduled_at=scheduled_at,
                priority=priority_number(priority),
            )
        )

    async def job_move_to_dead_letter(self, job_id: Id, final_error: str, moved_by: str) -> r.Buried:
        """Make a dead letter of a job that has not ended, whoever holds it."""
        return await self._run(
            answer(
                self.schema,
                "fn_job_move_to_dead_letter",
                r.Buried,
                {"job_id": job_id, "final_error": final_error, "moved_by": moved_by},
            )
        )

    async def job_get(self, job_id: Id) -> r.JobDetail:
        """One job with everything that is kept about it."""
        return await self._run(answer(self.schema, "fn_job_get", r.JobDetail, {"job_id": job_id}))

    async def job_list(
        self,
        *,
        states: Names | None = None,
        kind: str | None = None,
        key: str | None = None,
        limit: int | None = None,
        after: Id | None = None,
    ) -> list[r.JobSummary]:
        """Jobs, newest first; the next page comes after the last job_id of this one."""
        return await self._run(
            rows(
                self.schema,
                "fn_job_list",
                r.JobSummary,
                {},
                states=states,
                kind=kind,
                key=key,
                limit=limit,
                after=after,
            )
        )

    async def job_explain(self, job_id: Id) -> list[r.Blocker]:
        """Why a job is not running: each blocker in the order in which it counts."""
        return await self._run(rows(self.schema, "fn_job_explain", r.Blocker, {"job_id": job_id}))

    async def job_timeline(self, job_id: Id) -> list[r.Event]:
        """What is known of a job's life, in order of time."""
        return await self._run(rows(self.schema, "fn_job_timeline", r.Event, {"job_id": job_id}))

    async def fence_assert(self, job_id: Id, lease: str) -> None:
        """Raise unless the lease is current, and keep it so until the caller's transaction ends."""
        await self._run(scalar(self.schema, "fn_fence_assert", {"job_id": job_id, "lease": lease}))

    # Dead letters

    async def dead_letter_triage(
        self, dead_letter_id: Id, status: str, actor: str, *, note: str | None = None
    ) -> r.Triage:
        """Record what was decided about a dead letter, by whom and why."""
        return await self._run(
            answer(
                self.schema,
                "fn_dead_letter_triage",
                r.Triage,
                {"dead_letter_id": dead_letter_id, "status": status, "actor": actor},
                note=note,
            )
        )

    async def dead_letter_replay(self, dead_letter_id: Id, actor: str) -> r.Replay:
        """Enqueue a new job from a dead letter."""
        return await self._run(
            answer(
                self.schema,
                "fn_dead_letter_replay",
                r.Replay,
                {"dead_letter_id": dead_letter_id, "actor": actor},
            )
        )

    async def dead_letter_replay_many(
        self,
        filter: Mapping[str, Any],
        actor: str,
        *,
        limit: int | None = None,
        dry_run: bool | None = None,
    ) -> list[r.ReplayOutcome]:
        """Replay open dead letters by {kind, fingerprint, cause, status}; SQL says when it is a dry run."""
        return await self._run(
            rows(
                self.schema,
                "fn_dead_letter_replay_many",
                r.ReplayOutcome,
                {"filter": jsonb("filter", filter), "actor": actor},
                limit=limit,
                dry_run=dry_run,
            )
        )

    # Kinds and settings

    async def kind_get(self, kind: str) -> r.KindPolicy:
        """The whole policy of one kind, with its payload schema."""
        return await self._run(answer(self.schema, "fn_kind_get", r.KindPolicy, {"kind": kind}))

    async def kind_set(self, kind: str, policy: Mapping[str, Any], actor: str) -> r.KindPolicy:
        """Register a kind, or change the policies that are named; the others stay."""
        return await self._run(
            answer(
                self.schema,
                "fn_kind_set",
                r.KindPolicy,
                {"kind": kind, "policy": jsonb("policy", policy), "actor": actor},
            )
        )

    async def kind_pause(
        self, kind: str, actor: str, *, reason: str | None = None, until: datetime | None = None
    ) -> r.KindPaused:
        """Stop claims of one kind, for good or until a time."""
        return await self._run(
            answer(
                self.schema,
                "fn_kind_pause",
                r.KindPaused,
                {"kind": kind, "actor": actor},
                reason=reason,
                until=until,
            )
        )

    async def kind_resume(self, kind: str, actor: str) -> r.KindResumed:
        """Let a paused kind be claimed again."""
        return await self._run(answer(self.schema, "fn_kind_resume", r.KindResumed, {"kind": kind, "actor": actor}))

    async def payload_problem(
        self, schema: object, value: object, *, path: str | None = None, root: object = None
    ) -> str | None:
        """The first place where a value does not fit a JSON Schema, in words; None when it fits."""
        problem: str | None = await self._run(
            scalar(
                self.schema,
                "fn_payload_problem",
                {"schema": jsonb("schema", schema), "value": jsonb("value", value)},
                path=path,
                root=jsonb("root", root),
            )
        )
        return problem

    async def config_set(self, key: str, value: str, actor: str) -> r.SettingChange:
        """Change a gate or a setting."""
        return await self._run(
            answer(self.schema, "fn_config_set", r.SettingChange, {"key": key, "value": value, "actor": actor})
        )

    # Workers and upkeep

    async def worker_register(
        self,
        worker_id: str,
        hostname: str,
        pool_size: int,
        *,
        version: str | None = None,
        kinds: Names | None = None,
        affinity_keys: Names | None = None,
        metadata: Mapping[str, Any] | r.Json | None = None,
    ) -> r.WorkerRegistered:
        """Say that a worker is up and what it serves; repeating it says that it still is."""
        return await self._run(
            answer(
                self.schema,
                "fn_worker_register",
                r.WorkerRegistered,
                {"worker_id": worker_id, "hostname": hostname, "pool_size": pool_size},
                version=version,
                kinds=kinds,
                affinity_keys=affinity_keys,
                metadata=jsonb("metadata", metadata),
            )
        )

    async def worker_deregister(self, worker_id: str) -> r.WorkerDeregistered:
        """Take a worker off the list and give up the duties it leads."""
        return await self._run(
            answer(self.schema, "fn_worker_deregister", r.WorkerDeregistered, {"worker_id": worker_id})
        )

    async def leader_acquire(self, duty: str, worker_id: str, *, lease_seconds: int | None = None) -> r.Leadership:
        """Lead a duty, or go on leading it."""
        return await self._run(
            answer(
                self.schema,
                "fn_leader_acquire",
                r.Leadership,
                {"duty": duty, "worker_id": worker_id},
                lease_seconds=lease_seconds,
            )
        )

    async def queue_heartbeat_tick(
        self,
        executor_name: str,
        executor_kind: str,
        *,
        status: str | None = None,
        current_job_id: Id | None = None,
        lease_owner: str | None = None,
        metadata: Mapping[str, Any] | r.Json | None = None,
    ) -> r.Tick:
        """Say that an executor is alive."""
        return await self._run(
            answer(
                self.schema,
                "fn_queue_heartbeat_tick",
                r.Tick,
                {"executor_name": executor_name, "executor_kind": executor_kind},
                status=status,
                current_job_id=current_job_id,
                lease_owner=lease_owner,
                metadata=jsonb("metadata", metadata),
            )
        )

    async def queue_stale_check(self, *, threshold_seconds: int | None = None) -> r.StaleCheck:
        """Executors that have not ticked for longer than the threshold."""
        return await self._run(
            answer(self.schema, "fn_queue_stale_check", r.StaleCheck, {}, threshold_seconds=threshold_seconds)
        )

    async def queue_reap(self, *, limit: int | None = None) -> r.Reaped:
        """Take back leases that ran out, and end jobs whose cancellation is overdue."""
        return await self._run(answer(self.schema, "fn_queue_reap", r.Reaped, {}, limit=limit))

    async def queue_maintain(self, worker_id: str) -> r.Maintenance:
        """Run the duties that are due, if this worker leads them or can take them over."""
        return await self._run(answer(self.schema, "fn_queue_maintain", r.Maintenance, {"worker_id": worker_id}))

    async def queue_fsck(self) -> list[r.Violation]:
        """Every invariant that does not hold; nothing means that the queue is sound."""
        return await self._run(rows(self.schema, "fn_queue_fsck", r.Violation, {}))

    async def server_time(self, offset: timedelta | None = None) -> datetime:
        """The time by which the queue decides, moved by an offset: callers need no clock of their own."""
        return await self._run(clock(self.schema, offset))

    # Reading

    async def queue_status(self) -> r.QueueStatus:
        """Is it healthy, and if not, why?"""
        return (await self._run(view(self.schema, "v_queue_status", r.QueueStatus)))[0]

    async def queue_health(self) -> list[r.QueueHealth]:
        """Every executor beside the state of the queue; without executors, one row that names none."""
        return await self._run(view(self.schema, "v_queue_health", r.QueueHealth))

    async def backlog(self, *, kind: str | None = None, state: str | None = None) -> list[r.Backlog]:
        """Jobs by kind and state."""
        return await self._run(view(self.schema, "v_job_queue_backlog", r.Backlog, job_kind=kind, state=state))

    async def dead_letter(self, dead_letter_id: Id) -> r.DeadLetter | None:
        """One dead letter; None when there is none with this id."""
        found = await self._run(view(self.schema, "v_dead_letter_triage", r.DeadLetter, dead_letter_id=dead_letter_id))
        return found[0] if found else None

    async def dead_letters(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        fingerprint: str | None = None,
        cause: str | None = None,
        limit: int | None = None,
    ) -> list[r.DeadLetter]:
        """Dead letters, newest first."""
        return await self._run(
            view(
                self.schema,
                "v_dead_letter_triage",
                r.DeadLetter,
                limit=limit,
                triage_status=status,
                task_type=kind,
                error_fingerprint=fingerprint,
                cause=cause,
            )
        )

    async def dead_letter_groups(self, *, kind: str | None = None, limit: int | None = None) -> list[r.DeadLetterGroup]:
        """Dead letters by kind and error, those with most open ones first."""
        return await self._run(view(self.schema, "v_dead_letter_group", r.DeadLetterGroup, limit=limit, job_kind=kind))

    async def dead_letter_summary(self) -> list[r.DeadLetterSummary]:
        """Dead letters by kind and triage status."""
        return await self._run(view(self.schema, "v_job_dead_letter_summary", r.DeadLetterSummary))

    async def job_stuck(self, *, limit: int | None = None) -> list[r.StuckJob]:
        """Jobs whose lease ran out, or whose cancellation is overdue."""
        return await self._run(view(self.schema, "v_job_stuck", r.StuckJob, limit=limit))

    async def job_recent(
        self, *, kind: str | None = None, state: str | None = None, limit: int | None = None
    ) -> list[r.RecentJob]:
        """Jobs that ended in the last hour, newest first."""
        return await self._run(view(self.schema, "v_job_recent", r.RecentJob, limit=limit, job_kind=kind, state=state))

    async def worker_fleet(self) -> list[r.FleetWorker]:
        """Every registered worker."""
        return await self._run(view(self.schema, "v_worker_fleet", r.FleetWorker))

    async def kinds(self) -> list[r.Kind]:
        """The policy of every kind, with what is configured for all filled in."""
        return await self._run(view(self.schema, "v_kind", r.Kind))

    async def config(self, *, key: str | None = None, is_gate: bool | None = None) -> list[r.Setting]:
        """Every gate and setting."""
        return await self._run(view(self.schema, "v_config", r.Setting, key=key, is_gate=is_gate))

    async def config_audit(self, *, key: str | None = None, limit: int | None = None) -> list[r.SettingAudit]:
        """Who changed which gate, setting or kind, newest first; a kind appears as kind:<name>."""
        return await self._run(view(self.schema, "v_config_audit", r.SettingAudit, limit=limit, key=key))

    async def error_codes(self) -> list[r.ErrorCode]:
        """Every SQLSTATE that dotq's functions raise."""
        return await self._run(view(self.schema, "v_error_code", r.ErrorCode))

    async def catalog(self, *, object_type: str | None = None) -> list[r.CatalogEntry]:
        """Every function, view and table of dotq."""
        return await self._run(view(self.schema, "v_catalog", r.CatalogEntry, object_type=object_type))
