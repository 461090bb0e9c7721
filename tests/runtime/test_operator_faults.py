"""Whatever happens between an operator and its server, in the end everything is as it was declared and says so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import ApiError, ExpiredError, TooManyRequestsError, UnavailableError, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.watch.watcher import Pace
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status
from tests.runtime.faulty import QUICK, FaultyTransport, Proxy, open_proxy
from tests.runtime.widgets import FINALIZER, KINDS, Widgets, path, widget
from tests.served import serve_plane

NOTES = "/api/v1/namespaces/default/configmaps"
OPTIONS = Options(finalizer=FINALIZER, timeout_s=1.0)
NAMES = [f"w{number}" for number in range(8)]


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset(), is_open=True)) as plane:
        await install(plane.client, KINDS)
        yield plane


@asynccontextmanager
async def operating(transport: Transport, pace: Pace = QUICK) -> AsyncIterator[Widgets]:
    manager = Manager(Client(transport), pace=pace, grace_s=2)
    widgets = Widgets(OPTIONS)
    manager.add("widgets", widgets.register)
    async with manager.running():
        yield widgets


@asynccontextmanager
async def proxied(plane: Plane) -> AsyncIterator[tuple[Proxy, Widgets]]:
    assert plane.server is not None
    async with open_proxy(plane.server.port) as proxy:
        endpoint = replace(load_endpoint([plane.kubeconfig_path]), server=f"http://127.0.0.1:{proxy.port}")
        async with open_transport(endpoint) as transport, operating(transport) as widgets:
            yield proxy, widgets


async def declare(client: Client, turn: str) -> None:
    """Every Widget says the turn; some go and come back, and some of what was made is bent or taken away."""
    notes = {each["metadata"]["name"] for each in (await client.list(NOTES))[0]}
    held = {each["metadata"]["name"] for each in (await client.list(path()))[0]}
    for number, name in enumerate(NAMES):
        if name not in held:
            await client.create(path(), widget(name, f"{name} {turn}"))
        else:
            await client.merge(path(name), {"spec": {"text": f"{name} {turn}"}})
        if number % 4 == 1 and name in notes:
            await client.merge(f"{NOTES}/{name}", {"data": {"text": "bent"}})
        if number % 4 == 2 and name in notes:
            await client.delete(f"{NOTES}/{name}")
        await asyncio.sleep(0.01)


async def state(client: Client) -> dict[str, tuple[str, str, str]]:
    """By Widget: what is declared, what the status says, what its ConfigMap says."""
    notes = {
        each["metadata"]["name"]: (each.get("data") or {}).get("text", "") for each in (await client.list(NOTES))[0]
    }
    objects = (await client.list(path()))[0]
    for each in objects:
        if each.get("status"):
            check_status(each)
    return {each["metadata"]["name"]: (*_told(each), notes.get(each["metadata"]["name"], "")) for each in objects}


def _told(obj: JsonObject) -> tuple[str, str]:
    status = obj.get("status") or {}
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())
    is_current = status.get("observedGeneration") == obj["metadata"]["generation"]
    return obj["spec"]["text"], status.get("text", "") if is_ready and is_current else "not ready"


async def as_declared(client: Client, turn: str) -> None:
    expected = {name: (f"{name} {turn}",) * 3 for name in NAMES}
    await eventually(lambda: state(client), lambda found: found == expected, within_s=30)


async def test_connections_that_are_reset_in_the_middle_of_a_line_lose_nothing(plane: Plane) -> None:
    chance = random.Random(4)
    async with proxied(plane) as (proxy, _):
        await declare(plane.client, "first")
        await as_declared(plane.client, "first")
        proxy.budget = lambda: chance.randrange(300, 8_000)
        proxy.reset()
        for turn in range(3):
            await declare(plane.client, f"turn {turn}")
        proxy.budget = lambda: None
        await as_declared(plane.client, "turn 2")


async def test_connections_on_which_nothing_comes_any_more_lose_nothing(plane: Plane) -> None:
    async with proxied(plane) as (proxy, widgets):
        await declare(plane.client, "first")
        await as_declared(plane.client, "first")
        proxy.is_frozen = True
        await declare(plane.client, "meanwhile")
        await eventually(lambda: widgets.controller.informer.watcher.restarts > 0)
        proxy.is_frozen = False
        await as_declared(plane.client, "meanwhile")


async def test_a_server_that_is_killed_and_comes_back_is_worked_for_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        served = await asyncio.to_thread(stack.enter_context, serve_plane(data))
        async with open_transport(load_endpoint([served.kubeconfig])) as transport:
            client = Client(transport)
            await install(client, KINDS)
            async with operating(transport) as widgets:
                await declare(client, "first")
                served.kill()
                await eventually(lambda: widgets.controller.informer.watcher.restarts > 0)
                await asyncio.to_thread(stack.enter_context, serve_plane(data, served.port))
                await declare(client, "second")
                await as_declared(client, "second")


class Moody(FaultyTransport):
    """Refuses writes to the status, and others, by chance."""

    def __init__(self, inner: Transport, error: ApiError, *, seed: int) -> None:
        super().__init__(inner)
        self._error, self._chance = error, random.Random(seed)
        self.refused = 0

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method != "GET" and self.refused < 60 and self._chance.random() < (0.7 if "status" in path else 0.3):
            self.refused += 1
            return Response(self._error.code, encode(status_of(self._error)))
        return await super().send(method, path, query=query, body=body, content_type=content_type, accept=accept)


@pytest.mark.parametrize("error", [TooManyRequestsError("slow down"), UnavailableError("starting")], ids=["429", "503"])
async def test_writes_that_are_refused_by_chance_come_through(plane: Plane, error: ApiError) -> None:
    transport = Moody(plane.client._transport, error, seed=5)
    async with operating(transport):
        for turn in range(3):
            await declare(plane.client, f"turn {turn}")
        await as_declared(plane.client, "turn 2")
    assert transport.refused > 10


async def test_a_storm_of_expired_watches_loses_nothing(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    expired = encode({"type": "ERROR", "object": status_of(ExpiredError("too old resource version"))})
    chance = random.Random(6)
    async with operating(transport):
        await declare(plane.client, "first")
        transport.bend = lambda line: [expired] if chance.random() < 0.3 else [line]
        transport.stream_refusals.extend([ExpiredError("too old resource version")] * 5)
        for turn in range(3):
            await declare(plane.client, f"turn {turn}")
        transport.bend = lambda line: [line]
        await as_declared(plane.client, "turn 2")


async def test_events_that_come_twice_or_not_at_all_lose_nothing(plane: Plane) -> None:
    transport = FaultyTransport(plane.client._transport)
    chance = random.Random(7)
    before: list[bytes] = []

    def bend(line: bytes) -> list[bytes]:
        before.append(line)
        if chance.random() < 0.2 and b'"BOOKMARK"' not in line:
            return []
        return [line, line, *before[-3:]]

    async with operating(transport, msgspec.structs.replace(QUICK, relist_every_s=0.5)):
        transport.bend = bend
        for turn in range(3):
            await declare(plane.client, f"turn {turn}")
        await as_declared(plane.client, "turn 2")


async def test_what_is_deleted_in_the_middle_of_it_all_leaves_nothing_behind(plane: Plane) -> None:
    chance = random.Random(8)
    async with proxied(plane) as (proxy, _):
        await declare(plane.client, "first")
        await as_declared(plane.client, "first")
        proxy.budget = lambda: chance.randrange(300, 8_000)
        proxy.reset()
        for name in NAMES:
            await plane.client.delete(path(name))
        await eventually(lambda: plane.client.list(path()), lambda found: found[0] == [], within_s=30)
        assert (await plane.client.list(NOTES))[0] == []
