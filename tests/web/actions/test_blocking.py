"""No request to the REST API holds up the process that serves it, with the control plane in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import InvalidError
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.testing.eventually import eventually
from tests.holds import measured_turns
from tests.web.actions.calling import Api

_LONGEST_TURN_S = 0.15
"""CPU time of the event loop, the client of the test included; each of these requests took 2 to 4 s of it."""


@asynccontextmanager
async def never_held() -> AsyncIterator[None]:
    async with measured_turns() as turns:
        yield
    assert turns.longest_s < _LONGEST_TURN_S, f"a turn of the event loop took {turns.longest_s:.2f} s"


def resource(kind: str, spec: Any) -> Any:
    return {
        "name": "a",
        "resource_type_name": kind,
        "resource_type_version": "v1",
        "action_plugin": "shelf",
        "spec": spec,
    }


def broad(schema: Any) -> Any:
    kind = RESOURCE_TYPE.kind
    spec = {"name": "Broad", "version": "v1", "schema": schema}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "broad"}, "spec": spec}


async def test_alternatives_are_checked_beside_the_event_loop(api: Api) -> None:
    items = {"type": "integer", "anyOf": [{"minimum": 10_000 + at} for at in range(6_000)]}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": items}}}
    assert (await api.call("POST", "/resource-types", {"name": "Any", "version": "v1", "schema": schema})).status == 201
    async with never_held():
        answer = await api.call("POST", "/resources", resource("Any", {"l": [1] * 12_000}))
    assert answer.status == 400
    assert "must validate at least one schema (anyOf)" in answer.body["detail"]


async def test_a_schema_of_many_properties_is_checked_beside_the_event_loop(api: Api) -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(10_000)}}
    async with never_held():
        made = await api.call("POST", "/resource-types", {"name": "Big", "version": "v1", "schema": schema})
        spec = {f"p{at}": "x" for at in range(10_000)}
        answer = await api.call("POST", "/resources", resource("Big", spec))
    assert (made.status, answer.status) == (201, 201)


async def test_a_large_type_declared_by_kubectl_is_checked_beside_the_event_loop(api: Api, client: Client) -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(10_000)}}
    declared = broad(schema)
    async with never_held():
        await client.create(RESOURCE_TYPE.kind.path(""), declared)
        await eventually(lambda: api.get("/resource-types"), lambda each: any(t["name"] == "Broad" for t in each.body))
        await client.delete(RESOURCE_TYPE.kind.path("", "broad"))


async def test_a_schema_beyond_the_limit_of_values_is_refused_in_words(client: Client) -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(30_000)}}
    declared = broad(schema)
    with pytest.raises(InvalidError, match="must have at most 50000 values"):
        await client.create(RESOURCE_TYPE.kind.path(""), declared)
