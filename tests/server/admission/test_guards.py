"""Checks in process have the last word on a write, and none that fails lets it pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.objects.errors import ConflictError, InternalError, NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.admission.guards import Guards
from homeostat.testing.eventually import eventually

SECRETS = "/api/v1/namespaces/default/secrets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BEDS = "/apis/garden.example/v1/namespaces/default/beds"


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    settings = Settings(data=data, port=0, is_open=True, operators=frozenset({"housekeeping"}))
    async with open_plane(settings) as plane:
        yield plane


def named(name: str, **more: Any) -> JsonObject:
    return {"metadata": {"name": name}, **more}


class Seen:
    def __init__(self) -> None:
        self.asked: list[tuple[str, bool, bool]] = []
        self.refusal: Exception | None = None

    async def check(self, operation: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self.asked.append((operation, old is not None, new is not None))
        if self.refusal is not None:
            raise self.refusal


async def test_each_operation_is_asked_about_and_nothing_else_is(plane: Plane) -> None:
    seen, client = Seen(), plane.client
    plane.admission.guards.put("the gardener", {"secrets": seen.check})
    await client.create(SECRETS, named("a"))
    await client.merge(f"{SECRETS}/a", {"metadata": {"labels": {"x": "1"}}})
    await client.delete(f"{SECRETS}/a")
    await client.create("/api/v1/namespaces/default/configmaps", named("a"))
    assert seen.asked == [("CREATE", False, True), ("UPDATE", True, True), ("DELETE", True, False)]


async def test_a_denied_write_is_not_stored_and_says_why(plane: Plane) -> None:
    seen, client = Seen(), plane.client
    await client.create(SECRETS, named("a"))
    plane.admission.guards.put("the gardener", {"secrets": seen.check})
    seen.refusal = ConflictError("it is in use")
    with pytest.raises(ConflictError, match="it is in use"):
        await client.delete(f"{SECRETS}/a")
    with pytest.raises(ConflictError, match="it is in use"):
        await client.request("POST", SECRETS, {"dryRun": "All"}, body=named("b"))
    assert "deletionTimestamp" not in (await client.get(f"{SECRETS}/a"))["metadata"]


async def test_a_check_that_fails_refuses_and_says_why(plane: Plane) -> None:
    seen = Seen()
    seen.refusal = RuntimeError("no soil")
    plane.admission.guards.put("the gardener", {"secrets": seen.check})
    with pytest.raises(InternalError, match=r"the gardener failed to check .* RuntimeError: no soil"):
        await plane.client.create(SECRETS, named("a"))
    with pytest.raises(NotFoundError):
        await plane.client.get(f"{SECRETS}/a")


async def test_a_check_that_takes_too_long_refuses(plane: Plane) -> None:
    async def sleep(*_: object) -> None:
        await asyncio.sleep(60)

    plane.admission.guards = Guards(longest_s=0.2)
    plane.admission.guards.put("the gardener", {"secrets": sleep})
    with pytest.raises(UnavailableError, match=r"the gardener did not check this write within 0\.2 s"):
        await plane.client.create(SECRETS, named("a"))


async def test_what_is_expected_refuses_until_it_is_there(plane: Plane) -> None:
    guards = plane.admission.guards = Guards(longest_s=1.0)
    guards.expect("the gardener", "secrets")
    with pytest.raises(UnavailableError, match="and has not started yet") as caught:
        await plane.client.create(SECRETS, named("a"))
    assert caught.value.retry_after_s == 1
    guards.put("the gardener", {"secrets": Seen().check})
    await plane.client.create(SECRETS, named("a"))


async def test_a_write_waits_for_the_check_that_is_expected(plane: Plane) -> None:
    guards, seen = Guards(longest_s=20.0), Seen()
    plane.admission.guards = guards
    guards.expect("the gardener", "secrets")
    writing = asyncio.ensure_future(plane.client.create(SECRETS, named("a")))
    await asyncio.sleep(0.05)
    assert not writing.done()
    guards.put("the gardener", {"secrets": seen.check})
    await writing
    assert [operation for operation, _, _ in seen.asked] == ["CREATE"]


async def test_neither_a_status_nor_a_definition_that_goes_is_asked_about(plane: Plane) -> None:
    seen, client = Seen(), plane.client
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": "beds", "singular": "bed", "kind": "Bed"}
    spec = {"group": "garden.example", "scope": "Namespaced", "names": names, "versions": [version]}
    await client.create(DEFINITIONS, named("beds.garden.example", spec=spec))
    await eventually(lambda: client.list(BEDS))
    bed = {"apiVersion": "garden.example/v1", "kind": "Bed", **named("a")}
    await client.create(BEDS, bed)
    seen.refusal = ConflictError("never")
    plane.admission.guards.put("the gardener", {"beds.garden.example": seen.check})
    await client.merge(f"{BEDS}/a/status", {"status": {"rows": 3}})
    with pytest.raises(ConflictError):
        await client.delete(f"{BEDS}/a")
    await client.delete(f"{DEFINITIONS}/beds.garden.example")

    async def is_gone() -> bool:
        try:
            await client.get(f"{DEFINITIONS}/beds.garden.example")
        except NotFoundError:
            return True
        return False

    await eventually(is_gone)
