"""Housekeeping on a server that refuses, breaks off and forgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from homeostat.client.base import Client, Response
from homeostat.client.inprocess import InProcess
from homeostat.operators import housekeeping
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.user import SELF
from tests.operators.world import World, configmap_path, owner

_REFUSAL = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}'


class Faulty(InProcess):
    """Refuses the last few of every fifty requests, and breaks the first streams in a way that nobody expects."""

    def __init__(self, plane: Plane, *, refused: int = 0, broken_streams: int = 0) -> None:
        super().__init__(plane.app.handle, {"user": SELF})
        self._refused = refused
        self._sent = 0
        self._broken_streams = broken_streams

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self._sent += 1
        if self._sent % 50 >= 50 - self._refused:
            return Response(503, _REFUSAL)
        return await super().send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        if self._broken_streams:
            self._broken_streams -= 1
            raise RuntimeError("a fault that nobody expects")
        return await super().stream(path, query=query, accept=accept)


@asynccontextmanager
async def kept(data: Path, **faults: int) -> AsyncIterator[tuple[World, Plane]]:
    """A plane whose housekeeping sees it through a faulty transport."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        task = asyncio.create_task(housekeeping.run(Client(Faulty(plane, **faults)), authority="PEM"))
        try:
            yield World(plane.client), plane
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_work_that_is_refused_is_done_later(data: Path) -> None:
    async with kept(data, refused=3) as (world, _):
        team = await world.furnished("team")
        top = await world.configmap("top")
        middle = await world.configmap("middle", owner(top, blocks=True))
        await world.configmap("leaf", owner(middle, blocks=True))
        await world.delete(configmap_path("top"), "Foreground")
        await world.delete(team)
        await world.gone(configmap_path("leaf"), configmap_path("middle"), configmap_path("top"), team)


async def test_a_fault_that_nobody_expects_begins_everything_anew(data: Path) -> None:
    async with kept(data, broken_streams=1) as (world, _):
        top = await world.configmap("top")
        await world.configmap("leaf", owner(top))
        await world.delete(configmap_path("top"))
        await world.gone(configmap_path("leaf"))


async def test_what_happens_while_watches_are_broken_off_is_seen(data: Path) -> None:
    async with kept(data) as (world, plane):
        await world.furnished("team")
        top = await world.configmap("top")
        await world.configmap("leaf", owner(top))
        plane.watches.close()
        await world.delete(configmap_path("top"))
        await world.gone(configmap_path("leaf"))


async def test_what_happens_while_the_log_is_compacted_is_seen(data: Path) -> None:
    async with kept(data) as (world, plane):
        await world.furnished("team")
        top = await world.configmap("top")
        await world.configmap("leaf", owner(top))
        other = await world.configmap("other")
        await world.quiet()
        plane.watches.close()
        await world.delete(configmap_path("top"))
        await world.configmap("late", owner(other))
        await plane.store.compact(plane.store.revision)
        await world.gone(configmap_path("leaf"))
        await world.delete(configmap_path("other"))
        await world.gone(configmap_path("late"))
