"""What a call in the thread waits for on the loop: meanwhile the thread is there for others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.edge.reply import Reply
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import SELF
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import LARGE_BYTES, offloaded
from homeostat.server.request.paths import ObjectPath
from tests.holds import measured_turns

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
asked_by: ContextVar[str] = ContextVar("asked_by", default="nobody")


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as opened:
        yield opened


def large(name: str) -> JsonObject:
    return {"metadata": {"name": name}, "data": {"text": "x" * LARGE_BYTES}}


async def found(client: Client) -> list[str]:
    answer = await client.get(CONFIG_MAPS)
    return [each["metadata"]["name"] for each in answer["items"]]


async def test_a_check_that_takes_its_time_holds_up_no_other_large_call(plane: Plane) -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def check(_: str, __: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and new["metadata"]["name"] == "slow":
            is_asked.set()
            await may_answer.wait()

    plane.admission.guards.put("test", {"configmaps": check})
    slow = asyncio.ensure_future(plane.client.create(CONFIG_MAPS, large("slow")))
    await is_asked.wait()
    async with asyncio.timeout(30):
        await plane.client.create(CONFIG_MAPS, large("quick"))
    assert await found(plane.client) == ["quick"]
    may_answer.set()
    await slow
    assert await found(plane.client) == ["quick", "slow"]


async def test_a_check_may_ask_for_what_takes_the_thread(plane: Plane) -> None:
    async def check(*_: object) -> None:
        await in_thread(lambda: None, user=SELF.name)

    plane.admission.guards.put("test", {"configmaps": check})
    async with asyncio.timeout(30):
        await plane.client.create(CONFIG_MAPS, large("there"))


async def test_what_a_check_raises_is_the_answer(plane: Plane) -> None:
    async def check(*_: object) -> None:
        raise ForbiddenError("not this one")

    plane.admission.guards.put("test", {"configmaps": check})
    with pytest.raises(ForbiddenError, match="not this one"):
        await plane.client.create(CONFIG_MAPS, large("there"))


async def test_a_check_is_asked_in_the_context_of_the_call(plane: Plane) -> None:
    seen: list[str] = []

    async def check(*_: object) -> None:
        seen.append(asked_by.get())

    plane.admission.guards.put("test", {"configmaps": check})
    asked_by.set("this test")
    await plane.client.create(CONFIG_MAPS, large("there"))
    assert seen == ["this test"]


async def test_a_call_cancelled_during_a_check_writes_nothing(plane: Plane) -> None:
    is_asked, has_ended = asyncio.Event(), asyncio.Event()

    async def check(*_: object) -> None:
        is_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            has_ended.set()

    plane.admission.guards.put("test", {"configmaps": check})
    waiting = asyncio.ensure_future(plane.client.create(CONFIG_MAPS, large("there")))
    await is_asked.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(30):
        await has_ended.wait()
        await in_thread(lambda: None, user=SELF.name)
    assert await found(plane.client) == []


async def test_a_cancelled_call_gets_no_further_results(plane: Plane) -> None:
    """Else it would wait for a loop that may have ended, and the process for it."""
    has_begun, may_go_on = threading.Event(), threading.Event()
    told: list[object] = []

    @offloaded
    async def look(call: Call) -> Answer:
        has_begun.set()
        may_go_on.wait(30)
        told.append(call.store.get(call.key))
        return Reply(200)

    backend = plane.app.backend
    kind = backend.registry.find("", "v1", "configmaps")
    assert kind is not None
    path = ObjectPath(group="", version="v1", plural="configmaps", namespace="default", name="there", subresource="")
    waiting = asyncio.ensure_future(look(Call(backend, kind, path, SELF, body=b"x" * LARGE_BYTES)))
    await asyncio.to_thread(has_begun.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may_go_on.set()
    await in_thread(lambda: None, user=SELF.name)
    assert told == []


async def test_a_crowd_that_applies_to_one_object_is_served_and_holds_nobody_up(plane: Plane) -> None:
    path = f"{CONFIG_MAPS}/crowded"

    async def apply(number: int) -> JsonObject:
        data = {f"{number}-{each}": "" for each in range(10)}
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "crowded"}, "data": data}
        return await plane.client.apply(path, obj, manager=f"manager-{number}")

    async with measured_turns() as turns:
        await asyncio.gather(*map(apply, range(45)))
    assert len((await plane.client.get(path))["data"]) == 450
    assert turns.longest_s < 0.1, "not all of them are computed again for each commit"


async def test_large_writes_in_a_namespace_with_a_quota_wait_for_each_other(plane: Plane) -> None:
    hard = {"count/configmaps": "50"}
    quota = {"metadata": {"name": "few"}, "spec": {"hard": hard}}
    await plane.client.create("/api/v1/namespaces/default/resourcequotas", quota)
    both = [*(large(f"l{each}") for each in range(6)), *({"metadata": {"name": f"s{each}"}} for each in range(6))]
    await asyncio.gather(*(plane.client.create(CONFIG_MAPS, each) for each in both))
    assert len(await found(plane.client)) >= 12
