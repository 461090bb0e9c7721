"""No request to the REST API holds up the process that serves it, with the control plane in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.web.actions.calling import Api

_LONGEST_WAIT_S = 1.5
"""Generous, because tests share their machine; each of these requests took 2 to 4 s of the event loop."""


@asynccontextmanager
async def never_held() -> AsyncIterator[None]:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began)

    ticking = asyncio.create_task(tick())
    yield
    ticking.cancel()
    assert longest < _LONGEST_WAIT_S, f"the event loop was held for {longest:.1f} s"


def resource(kind: str, spec: Any) -> Any:
    return {
        "name": "a",
        "resource_type_name": kind,
        "resource_type_version": "v1",
        "action_plugin": "shelf",
        "spec": spec,
    }


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
