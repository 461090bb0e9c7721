"""Housekeeping on a server that refuses, breaks off and forgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.client.in_process import InProcess
from homeostat.operators import housekeeping
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import SELF
from tests.operators.housekeeping.world import World, configmap_path, eventually, owner

REFUSALS: dict[str, Response | UnreachableError] = {
    "429": Response(429, b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":429}', retry_after_s=0.2),
    "503": Response(503, b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":503}'),
    "unreachable": UnreachableError("the connection broke"),
}


class Faulty(InProcess):
    """Refuses a few of every fifty requests, the first ones included, and breaks the first streams."""

    def __init__(
        self, plane: Plane, *, refused: int = 0, refusal: str = "503", broken: Exception | None = None
    ) -> None:
        super().__init__(plane.app.handle, {"user": SELF})
        self._refused, self._refusal = refused, REFUSALS[refusal]
        self._sent = 0
        self._broken = broken

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        self._sent += 1
        if (self._sent - 1) % 50 < self._refused:
            if isinstance(self._refusal, Exception):
                raise self._refusal
            return self._refusal
        return await super().send(method, path, query=query, body=body, content_type=content_type, accept=accept)

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken
        return await super().stream(path, query=query, accept=accept)


@asynccontextmanager
async def kept(data: Path, **faults: Any) -> AsyncIterator[tuple[World, Plane]]:
    """A plane whose housekeeping sees it through a faulty transport."""
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        task = asyncio.create_task(housekeeping.run(Client(Faulty(plane, **faults)), authority="PEM"))
        try:
            yield World(plane.client), plane
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_work_that_is_refused_is_done_later(data: Path, refusal: str) -> None:
    async with kept(data, refused=3, refusal=refusal) as (world, _):
        team = await world.furnished("team")
        top = await world.configmap("top")
        middle = await world.configmap("middle", owner(top, blocks=True))
        await world.configmap("leaf", owner(middle, blocks=True))
        await world.delete(configmap_path("top"), "Foreground")
        await world.delete(team)
        await world.gone(configmap_path("leaf"), configmap_path("middle"), configmap_path("top"), team)


@pytest.mark.parametrize("fault", [UnreachableError("broken"), RuntimeError("a mistake")], ids=["expected", "not"])
async def test_a_watch_that_fails_and_a_mistake_of_ours_start_again(data: Path, fault: Exception) -> None:
    async with kept(data, broken=fault) as (world, _):
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


async def test_what_a_namespace_lost_while_no_watch_was_open_is_created_again(data: Path) -> None:
    async with kept(data) as (world, plane):
        team = await world.furnished("team")
        await world.quiet()
        plane.watches.close()
        await plane.client.delete(f"{team}/serviceaccounts/default")
        await plane.store.compact(plane.store.revision)

        async def is_there() -> bool:
            return await world.find(f"{team}/serviceaccounts/default") is not None

        await eventually(is_there)


async def test_a_definition_that_went_while_no_watch_was_open_is_not_followed_any_more(data: Path) -> None:
    async with kept(data) as (world, plane):
        path = await world.definition()
        widget = await world.widget("top")
        await world.configmap("leaf", owner(widget))
        await world.quiet()
        plane.watches.close()
        await world.delete(path)
        await plane.store.compact(plane.store.revision)
        await world.gone(path, configmap_path("leaf"))


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
