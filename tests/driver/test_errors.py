"""Errors: by SQLSTATE, one class each; what is not dotq's own passes as it is."""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable
from uuid import uuid4

import psycopg
import pytest

from dotq import AsyncClient, errors
from dotq._errors import BY_SQLSTATE, translate
from dotq._migrate import MigrationError
from driver.support import MASTER, ME, caught, open_client
from harness.databases import Database

WORKER = "host-1-abc"
Scenario = Callable[[AsyncClient], Awaitable[object]]


async def _dead(client: AsyncClient, key: str | None = None) -> str:
    job = (await client.job_enqueue("report", ME, idempotency_key=key)).job_id
    return str((await client.job_move_to_dead_letter(job, "broken", ME)).dead_letter_id)


async def invalid_argument(client: AsyncClient) -> object:
    return await client.job_enqueue("report", ME, priority=-1)


async def gate_closed(client: AsyncClient) -> object:
    await client.config_set(MASTER, "false", ME)
    return await client.job_enqueue("report", ME)


async def job_not_found(client: AsyncClient) -> object:
    return await client.job_get(uuid4())


async def lease_lost(client: AsyncClient) -> object:
    await client.job_enqueue("report", ME)
    job = (await client.job_claim(WORKER)).job
    assert job is not None
    await client.job_release(job.job_id, job.lease)
    return await client.job_ack(job.job_id, job.lease)


async def wrong_state(client: AsyncClient) -> object:
    job = (await client.job_enqueue("report", ME)).job_id
    await client.job_cancel(job, ME)
    return await client.job_cancel(job, ME)


async def kind_unknown(client: AsyncClient) -> object:
    return await client.kind_get("nothing")


async def kind_disabled(client: AsyncClient) -> object:
    await client.kind_set("report", {"enabled": False}, ME)
    return await client.job_enqueue("report", ME)


async def payload_invalid(client: AsyncClient) -> object:
    await client.kind_set("report", {"payload_schema": {"type": "object", "required": ["n"]}}, ME)
    return await client.job_enqueue("report", ME, payload_json={"m": 1})


async def dead_letter_not_found(client: AsyncClient) -> object:
    return await client.dead_letter_replay(uuid4(), ME)


async def replay_conflict(client: AsyncClient) -> object:
    letter = await _dead(client, "june")
    await client.job_enqueue("report", ME, idempotency_key="june")
    return await client.dead_letter_replay(letter, ME)


async def already_triaged(client: AsyncClient) -> object:
    letter = await _dead(client)
    await client.dead_letter_triage(letter, "closed", ME)
    return await client.dead_letter_replay(letter, ME)


async def setting_unknown(client: AsyncClient) -> object:
    return await client.config_set("queue.nothing", "true", ME)


SCENARIOS: dict[str, Scenario] = {
    "22023": invalid_argument,
    "JQ001": gate_closed,
    "JQ002": job_not_found,
    "JQ003": lease_lost,
    "JQ004": wrong_state,
    "JQ005": kind_unknown,
    "JQ006": kind_disabled,
    "JQ007": payload_invalid,
    "JQ008": dead_letter_not_found,
    "JQ009": replay_conflict,
    "JQ010": already_triaged,
    "JQ011": setting_unknown,
}
# Raised while installing, which is done by `dotq migrate` and not by a client.
BY_THE_INSTALLATION = {"JQ012", "JQ013", "JQ014"}


@pytest.mark.parametrize("code", SCENARIOS)
async def test_each_code_has_its_exception(client: AsyncClient, code: str) -> None:
    with caught(BY_SQLSTATE[code]) as raised:
        await SCENARIOS[code](client)
    error = raised.value
    assert isinstance(error, errors.DotqError)
    assert error.sqlstate == code
    assert isinstance(error.__cause__, psycopg.Error)
    assert error.message == error.__cause__.diag.message_primary == str(error)
    assert error.hint == error.__cause__.diag.message_hint


def test_the_scenarios_leave_out_only_the_installation() -> None:
    assert set(BY_SQLSTATE) - set(SCENARIOS) == BY_THE_INSTALLATION


async def test_the_list_is_that_of_the_database(client: AsyncClient) -> None:
    listed = {code.code: code.name for code in await client.error_codes()}
    assert set(BY_SQLSTATE) == set(listed)
    for code, name in listed.items():
        kind = BY_SQLSTATE[code]
        assert kind.__name__ == "".join(word.title() for word in name.split("_"))
        assert kind.sqlstate == code
        assert getattr(errors, kind.__name__) is kind


@pytest.mark.parametrize("code", sorted(BY_SQLSTATE))
def test_a_code_counts_and_not_the_text(db: Database, code: str) -> None:
    statement = f"do $$begin raise exception 'anything' using errcode = '{code}', hint = 'try this'; end$$"
    with pytest.raises(psycopg.Error) as raised:
        db.connect().execute(statement.encode())
    error = translate(raised.value)
    assert type(error) is BY_SQLSTATE[code]
    assert (error.message, error.hint, error.sqlstate) == ("anything", "try this", code)


async def test_what_is_not_ours_passes_untouched(db: Database, kind: str, client: AsyncClient) -> None:
    with caught(psycopg.errors.InvalidTextRepresentation):
        await client.job_get("not-a-uuid")
    with caught(psycopg.errors.NumericValueOutOfRange):
        await client.queue_reap(limit=1 << 40)
    with caught(psycopg.errors.InvalidSchemaName):
        await (await open_client(db, kind, schema="nothing")).job_get(uuid4())
    with caught(psycopg.errors.UndefinedFunction):
        await (await open_client(db, kind, schema="public")).job_get(uuid4())


async def test_a_role_without_the_right_is_refused_by_postgresql(db: Database, kind: str) -> None:
    reader = await open_client(db, kind, options="-c role=dotq_reader")
    with caught(psycopg.errors.InsufficientPrivilege):
        await reader.job_enqueue("report", ME)
    assert (await reader.queue_status()).verdict == "ok"


async def test_required_arguments_are_sent_even_as_none(client: AsyncClient) -> None:
    with caught(errors.InvalidArgument) as raised:
        await client.job_get(None)  # type: ignore[arg-type]
    assert "job_id" in str(raised.value)


def test_errors_cross_processes_whole() -> None:
    error = errors.LeaseLost("gone", hint="drop it")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.sqlstate, copy.hint) == (
        errors.LeaseLost,
        "gone",
        "JQ003",
        "drop it",
    )
    moved = pickle.loads(pickle.dumps(MigrationError("no", sqlstate="JQ012", file="a.sql", line=3)))
    assert (moved.sqlstate, moved.file, moved.line) == ("JQ012", "a.sql", 3)
