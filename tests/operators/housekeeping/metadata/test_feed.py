"""What housekeeping believes of a server that lists again, in virtual time against a server that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count, pairwise
from time import thread_time
from typing import Any

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.errors import ExpiredError, NotFoundError, status_of
from homeostat.objects.json import encode
from homeostat.operators import housekeeping
from homeostat.operators.housekeeping.metadata.events import Listed, Synced
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.metadata.kinds import DEFINITION_KEY
from homeostat.testing.clock import virtual_time

CONFIG_MAPS, SECRETS = "/api/v1/configmaps", "/api/v1/secrets"
OWNER, DEPENDENT = "/api/v1/namespaces/n/configmaps/owner", "/api/v1/namespaces/n/secrets/dependent"
UNREADABLE = {"metadata": {"name": "owner", "namespace": "n", "uid": "o", "resourceVersion": "3", "finalizers": 7}}


def obj(name: str, uid: str, version: int, owner: str = "") -> dict[str, Any]:
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
    metadata = {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**metadata, "ownerReferences": [ref] if owner else None}}


def event(kind: str, about: object) -> bytes:
    return encode({"type": kind, "object": about})


def listed(version: int) -> bytes:
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return event("BOOKMARK", {"metadata": metadata})


EXPIRED = event("ERROR", status_of(ExpiredError("too old")))


class Server:
    """Two kinds. Objects are delivered by `say`, and found by who reads them by name only in `objects`."""

    def __init__(self) -> None:
        self.objects: dict[str, object] = {}
        self.streams: dict[str, asyncio.Queue[bytes]] = {path: asyncio.Queue() for path in (CONFIG_MAPS, SECRETS)}
        self.deleted: list[str] = []
        self.pages = 0

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        if method == "DELETE":
            self.deleted.append(path)
            return Response(200, b"{}")
        if path in {"/api", "/apis"}:
            return Response(200, encode({"kind": "APIGroupDiscoveryList", "items": _core() if path == "/api" else []}))
        if path in self.streams:
            self.pages += 1
            return Response(200, encode({"metadata": {"resourceVersion": "9"}, "items": [UNREADABLE]}))
        if path in self.objects:
            return Response(200, encode(self.objects[path]))
        return Response(404, encode(status_of(NotFoundError("no such object"))))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> AsyncIterator[bytes]:
        return self._lines(self.streams[path])

    async def say(self, path: str, *lines: bytes) -> None:
        """And let everybody think about it."""
        for line in lines:
            self.streams[path].put_nowait(line)
        await asyncio.sleep(1)

    async def show_both(self) -> None:
        """The owner is there for long enough to be seen."""
        self.objects[OWNER] = obj("owner", "o", 1)
        await self.say(CONFIG_MAPS, event("ADDED", self.objects[OWNER]), listed(1))
        await self.say(SECRETS, event("ADDED", self.objects[DEPENDENT]), listed(2))
        del self.objects[OWNER]

    async def _lines(self, queue: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
        while True:
            yield await queue.get()


def _core() -> list[object]:
    verbs = ["list", "watch", "delete"]
    resources = [
        {"resource": plural, "scope": "Namespaced", "verbs": verbs, "responseKind": {"kind": kind}}
        for plural, kind in (("configmaps", "ConfigMap"), ("secrets", "Secret"))
    ]
    return [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": resources}]}]


@asynccontextmanager
async def kept() -> AsyncIterator[Server]:
    """A server that has the dependent, and housekeeping that checks it."""
    server = Server()
    task = asyncio.create_task(housekeeping.run(Client(server), authority="PEM"))
    try:
        server.objects[DEPENDENT] = obj("dependent", "d", 2, owner="o")
        yield server
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_an_owner_that_a_new_list_lacks_is_gone() -> None:
    async with kept() as server:
        await server.show_both()
        assert server.deleted == []
        await server.say(CONFIG_MAPS, EXPIRED, listed(5))
        assert server.deleted == [DEPENDENT]


@virtual_time
async def test_an_owner_found_by_name_while_its_kind_is_listed_is_not_taken_for_gone() -> None:
    async with kept() as server:
        await server.say(CONFIG_MAPS, listed(1))
        await server.say(SECRETS, listed(1))
        await server.say(CONFIG_MAPS, EXPIRED)
        server.objects[OWNER] = obj("owner", "o", 6)
        await server.say(SECRETS, event("ADDED", obj("dependent", "d", 7, owner="o")))
        await server.say(CONFIG_MAPS, listed(5))
        await server.say(CONFIG_MAPS, event("ADDED", server.objects[OWNER]))
        assert server.deleted == []


@virtual_time
async def test_nothing_is_collected_before_every_kind_was_listed() -> None:
    async with kept() as server:
        await server.say(SECRETS, event("ADDED", server.objects[DEPENDENT]), listed(2))
        assert server.deleted == []
        await server.say(CONFIG_MAPS, listed(1))
        assert server.deleted == [DEPENDENT]


@pytest.mark.parametrize("is_in_list", [True, False], ids=["in a list", "in a change"])
def test_an_owner_that_cannot_be_read_is_not_taken_for_gone(is_in_list: bool) -> None:
    @virtual_time
    async def watch() -> None:
        async with kept() as server:
            await server.show_both()
            unreadable = event("MODIFIED", UNREADABLE)
            await server.say(CONFIG_MAPS, *([EXPIRED, unreadable, listed(5)] if is_in_list else [unreadable]))
            await asyncio.sleep(600)
            assert server.deleted == []
            assert 1 < server.pages < 60

    watch()


class Slow(Server):
    """Discovery takes 20 ms of CPU time, as with some thousand kinds."""

    discoveries = 0

    async def send(self, method: str, path: str, **more: Any) -> Response:
        if path == "/apis":
            self.discoveries += 1
            ends_at = thread_time() + 0.02
            while thread_time() < ends_at:
                pass
        return await super().send(method, path, **more)


async def test_discovery_of_many_kinds_takes_a_small_share_of_the_time() -> None:
    server = Slow()
    feed = Feed(Client(server))
    running = asyncio.create_task(feed.run())
    try:
        for _ in range(60):
            feed._observe_definitions(Listed(DEFINITION_KEY))
            await asyncio.sleep(0.02)
    finally:
        running.cancel()
    assert 1 <= server.discoveries <= 5, "with 50 ms between them there would be 15"


def test_a_busy_event_loop_delays_discovery_by_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.operators.housekeeping.metadata.feed.thread_time", count(step=60).__next__)

    @virtual_time
    async def discover() -> None:
        server = Slow()
        feed = Feed(Client(server))
        running = asyncio.create_task(feed.run())
        await asyncio.sleep(1)
        feed._observe_definitions(Listed(DEFINITION_KEY))
        await asyncio.sleep(5)
        running.cancel()
        assert server.discoveries == 2

    discover()


class Many(Server):
    """Serves 400 kinds without objects, and notes how many watches were open at each turn of the event loop."""

    opened = 0

    async def send(self, method: str, path: str, **more: Any) -> Response:
        names = [f"k{at}" for at in range(400)] if path == "/api" else []
        verbs = ["list", "watch", "delete"]
        resources = [
            {"resource": f"{each}s", "scope": "Namespaced", "verbs": verbs, "responseKind": {"kind": each}}
            for each in names
        ]
        versions = [{"version": "v1", "resources": resources}]
        return Response(200, encode({"kind": "APIGroupDiscoveryList", "items": [{"versions": versions}]}))

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> AsyncIterator[bytes]:
        self.opened += 1
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        lines.put_nowait(listed(1))
        return self._lines(lines)


async def test_the_watches_of_many_kinds_start_over_many_turns() -> None:
    server, synced, opened = Many(), 0, [0]
    feed = Feed(Client(server))

    def observe(found: object) -> None:
        nonlocal synced
        synced += isinstance(found, Synced)

    feed.subscribe(observe)
    running = asyncio.create_task(feed.run())
    try:
        while not feed.is_synced:
            await asyncio.sleep(0)
            opened.append(server.opened)
    finally:
        running.cancel()
    assert opened[-1] == 400
    assert max(after - before for before, after in pairwise(opened)) <= 100
    assert synced == 1, "not before all kinds are listed"
