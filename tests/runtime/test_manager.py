"""Operators of one process on a real plane."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.decision import Receipt
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.objects.time.backoff import Backoff
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.leader import Terms
from homeostat.runtime.manager import Manager
from homeostat.runtime.telemetry.health import serve_health
from homeostat.runtime.watch.watcher import Pace
from homeostat.testing.eventually import eventually
from tests.runtime.faulty import FaultyTransport
from tests.runtime.widgets import KINDS, WIDGETS, Action, Widget, Widgets, Write, Writer, managed, path, widget

EVENTS, NOTES = "/api/v1/namespaces/default/events", "/api/v1/namespaces/default/configmaps"
TERMS = Terms(lease_s=3, renew_s=2.0, retry_s=0.1)
QUICK = Pace(backoff=Backoff(first_s=0.02, cap_s=0.2))


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, is_open=True, operators=frozenset())) as plane:
        yield plane.client


async def status_of(client: Client, name: str) -> JsonObject:
    found: JsonObject = (await client.get(path(name))).get("status") or {}
    return found


async def probe(port: int) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
        return answer.status, await answer.text()


async def test_a_missing_definition_is_reported_and_waited_for(client: Client) -> None:
    widgets, manager = Widgets(), Manager(client, pace=QUICK)
    manager.add("widgets", widgets.register)
    ready = {"operators": lambda: "; ".join(manager.troubles())}
    async with manager.running(), serve_health(metrics=manager.metrics, ready=ready) as health:
        await eventually(manager.troubles, lambda told: len(told) == 1 and "retrying after" in told[0])
        status, text = await probe(health.port)
        assert status == 503
        assert "widgets: /apis/shop.example/v1/widgets: retrying after" in text
        await install(client, KINDS)
        await client.create(path(), widget("a"))
        await eventually(lambda: status_of(client, "a"), lambda status: status.get("text") == "hello")
        assert await probe(health.port) == (200, "READY")


async def test_a_manager_of_one_namespace_sees_nothing_else(client: Client) -> None:
    widgets = Widgets()
    await client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    async with managed(client, widgets, Manager(client, namespace="shop")):
        await client.create(path(), widget("other"))
        await client.create(WIDGETS.kind.path("shop"), widget("mine"))
        await eventually(lambda: client.get(WIDGETS.kind.path("shop", "mine")), lambda obj: "status" in obj)
        assert set(widgets.writer.looks) == {"mine"}
        assert {each.metadata.namespace for each in widgets.controller.informer.cache} == {"shop"}


async def test_two_operators_work_side_by_side(client: Client) -> None:
    one, two = Widgets(Options()), Widgets(Options(has_status=False))
    manager = Manager(client)
    manager.add("one", one.register)
    async with managed(client, two, manager):
        assert one.controller.informer is two.controller.informer
        await client.create(path(), widget("a"))
        await eventually(lambda: status_of(client, "a"), lambda status: status.get("text") == "hello")
        await eventually(lambda: (one.writer.looks["a"] > 0, two.writer.looks["a"] > 0), all)
        assert len(list(manager.informers)) == 2


class SlowEvents:
    """Takes its time to write Events."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method == "POST" and path.endswith("/events"):
            await asyncio.sleep(0.2)
        return await self._inner.send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._inner.stream(path, query=query, accept=accept)


async def test_a_stop_writes_the_events_of_the_last_reconciliation_and_then_releases_the_lease(client: Client) -> None:
    widgets = Widgets()
    slow = client.over(SlowEvents)
    manager = Manager(slow, leases="default", identity="me", terms=TERMS)
    async with managed(slow, widgets, manager):
        await client.create(path(), widget("a", mode="hang"))
        await client.create(path(), widget("b", mode="stall"))
        await eventually(lambda: widgets.writer.at_work == 1 and widgets.writer.looks["b"] > 0)
        lease = await client.get(LEASE.path("default", "homeostat-widgets"))
        assert lease["spec"]["holderIdentity"] == "me"
        widgets.writer.release.set()
        await eventually(lambda: status_of(client, "b"), lambda status: "conditions" in status)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < 15, "the grace period is 20 s"
    events, _ = await client.list(EVENTS)
    assert [each["reason"] for each in events if each["involvedObject"]["name"] == "b"] == ["BadText"]
    lease = await client.get(LEASE.path("default", "homeostat-widgets"))
    assert "holderIdentity" not in lease["spec"]


async def test_running_work_continues_to_hold_the_lease_until_it_has_ended(client: Client) -> None:
    widgets = Widgets()
    manager = Manager(client, leases="default", identity="me", terms=TERMS)
    async with managed(client, widgets, manager):
        await client.create(path(), widget("a", mode="hang"))
        await eventually(lambda: widgets.writer.at_work == 1)
        manager.stop()
        await asyncio.sleep(2.5)
        lease = await client.get(LEASE.path("default", "homeostat-widgets"))
        assert lease["spec"]["holderIdentity"] == "me"
        widgets.writer.release.set()
    assert widgets.writer.acts == [("a", Write("hello"))]


class LostWriter(Writer):
    """What it waits for after the first write is cancelled by somebody else."""

    async def act(self, obj: Widget, action: Action) -> Receipt | None:
        await super().act(obj, action)
        if len(self.acts) == 1:
            raise asyncio.CancelledError
        return None


class Lost(Widgets):
    writer_type = LostWriter


async def test_a_reconciliation_that_broke_off_is_followed_by_one_that_sees_what_it_wrote(client: Client) -> None:
    lagging = FaultyTransport(client._transport)
    widgets, held = Lost(Options()), asyncio.Event()
    async with managed(Client(lagging), widgets):
        await eventually(lambda: widgets.controller.queue is not None)
        lagging.held["/api/v1/configmaps"] = held
        await client.create(path(), widget("a"))
        await eventually(lambda: client.get(f"{NOTES}/a"))
        await asyncio.sleep(0.3)
        assert widgets.writer.looks["a"] == 1
        held.set()
        await eventually(lambda: status_of(client, "a"), lambda status: status.get("text") == "hello")
    assert widgets.writer.acts == [("a", Write("hello"))]


async def test_installing_again_brings_a_definition_up_to_date(client: Client) -> None:
    await install(client, KINDS)
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example"
    await client.merge(name, {"spec": {"names": {"shortNames": ["old"]}}})
    await install(client, KINDS)
    assert (await client.get(name))["spec"]["names"]["shortNames"] == ["wd"]
    with pytest.raises(NotFoundError):
        await client.get(path("a"))
