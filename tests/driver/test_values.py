"""Values on their way in and out: JSON, names of priorities, times."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from dotq import PRIORITIES, AsyncClient, Json, as_dict, errors
from dotq._calls import jsonb, priority_number
from driver.support import ME, caught, scalar
from harness.databases import Database

WORKER = "host-1-abc"
# More digits than Python turns into an int; PostgreSQL keeps them.
UNREADABLE = '{"n": ' + "7" * 5000 + "}"


@pytest.mark.parametrize(
    "value",
    [{}, {"a": [1, -2.5, 0.1, "ж\u2028'\"\\%s %(x)s", None, True, {"b": []}]}, {"": ""}, {"n": 2**60}],
)
async def test_json_comes_back_as_it_went(client: AsyncClient, value: dict[str, Any]) -> None:
    sent = await client.job_enqueue("report", ME, payload_json=value)
    assert (await client.job_get(sent.job_id)).payload == value
    (job,) = await client.job_claim_many(WORKER, 1)
    assert job.payload == value
    assert (await client.job_enqueue("report", ME, payload_json=job.payload_json)).duplicate is False
    (copy,) = await client.job_claim_many(WORKER, 1)
    assert copy.payload_json == job.payload_json


def _cycle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def _deep() -> Any:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [{"a": math.nan}, {"a": math.inf}, {"a": Decimal(1)}, {"a": {1}}, _cycle(), {"a": _deep()}]
)
async def test_what_is_no_json_is_refused_by_name(client: AsyncClient, value: dict[str, Any]) -> None:
    with caught(errors.InvalidArgument) as raised:
        await client.job_enqueue("report", ME, payload_json=value)
    assert str(raised.value).startswith("payload_json: ")
    assert await client.job_list() == []


_FALSY: tuple[object, ...] = (0, False, "", [], {}, None)


def test_false_and_empty_json_are_sent() -> None:
    assert [jsonb("x", value) for value in _FALSY] == [
        "0",
        "false",
        '""',
        "[]",
        "{}",
        None,
    ]


async def test_one_unreadable_payload_fails_alone(db: Database, client: AsyncClient) -> None:
    """Rows can be older than the rule that refuses such numbers, so they are written past it."""
    bad = (await client.job_enqueue("report", ME, priority=0)).job_id
    good = (await client.job_enqueue("report", ME, payload_json={"n": 1})).job_id
    db.connect().execute(
        "update dotq.job_queue set payload_json = %s::jsonb, metadata = %s::jsonb where job_id = %s",
        [UNREADABLE, UNREADABLE, bad],
    )
    first, second = await client.job_claim_many(WORKER, 2)
    assert (first.job_id, second.job_id, second.payload) == (bad, good, {"n": 1})
    with caught(errors.PayloadUndecodable):
        _ = first.payload
    with caught(errors.PayloadUndecodable):
        as_dict(first)
    assert first.payload_json == Json(UNREADABLE)
    failed = await client.job_fail_or_retry(first.job_id, first.lease, "unreadable", retryable=False)
    assert failed.state == "failed"
    assert (await client.job_get(bad)).last_error == "unreadable"
    assert len(await client.dead_letters()) == 1


async def test_one_claim_of_an_unreadable_payload_still_has_its_lease(db: Database, client: AsyncClient) -> None:
    sent = await client.job_enqueue("report", ME)
    db.connect().execute("update dotq.job_queue set payload_json = %s::jsonb", [UNREADABLE])
    job = (await client.job_claim(WORKER)).job
    assert job is not None
    with caught(errors.PayloadUndecodable):
        _ = job.payload
    assert (await client.job_release(job.job_id, job.lease)).job_id == sent.job_id


async def test_names_of_priorities(client: AsyncClient) -> None:
    assert PRIORITIES == {"critical": 0, "high": 50, "normal": 100, "low": 200}
    for name, number in PRIORITIES.items():
        sent = await client.job_enqueue("report", ME, priority=name)
        assert (await client.job_get(sent.job_id)).priority == number
    with caught(errors.InvalidArgument) as raised:
        await client.job_enqueue("report", ME, priority="urgent")
    assert "critical, high, normal, low" in str(getattr(raised.value, "hint", ""))
    assert [priority_number(value) for value in (None, 0, 3)] == [None, 0, 3]


async def test_a_time_without_a_zone_is_refused(client: AsyncClient) -> None:
    naive = datetime(2100, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)
    with caught(errors.InvalidArgument) as raised:
        await client.job_enqueue("report", ME, scheduled_at=naive)
    assert str(raised.value).startswith("scheduled_at: ")
    await client.kind_set("report", {}, ME)
    with caught(errors.InvalidArgument):
        await client.kind_pause("report", ME, until=naive)


async def test_text_is_data(db: Database, client: AsyncClient) -> None:
    ugly = "a'); drop schema dotq cascade; --%s$1 {0}"
    sent = await client.job_enqueue(ugly, ugly, idempotency_key=ugly, source_ref=ugly)
    job = await client.job_get(sent.job_id)
    assert (job.job_kind, job.actor, job.idempotency_key, job.source_ref) == (ugly,) * 4
    assert [row.job_kind for row in await client.backlog(kind=ugly)] == [ugly]
    assert scalar(db.connect(), "select count(*) from dotq.v_job_queue_backlog") == 1


async def test_a_text_in_place_of_a_list_is_not_taken_apart(client: AsyncClient) -> None:
    with caught(psycopg.errors.InvalidTextRepresentation):
        await client.job_list(states="queued")  # type: ignore[arg-type]


def test_too_deep_is_told_like_any_other() -> None:
    with caught(errors.PayloadUndecodable):
        _ = Json("[" * 200_000 + "]" * 200_000).value


def test_json_is_a_value() -> None:
    assert Json('{"a": 1}') == Json('{"a": 1}')
    assert Json("[1]").value == [1]
    with pytest.raises(errors.PayloadUndecodable):
        _ = Json("{").value
