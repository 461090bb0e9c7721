"""An app is opened when somebody asks, and what goes wrong in it ends nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from homeostat.edge.reply import Reply
from homeostat.edge.server import Handler, serve
from homeostat.runtime.faces.on_demand import OnDemand
from homeostat.testing.eventually import eventually


class Opening:
    """Counts how often it is opened. It fails to open while there is trouble, and fails later when it is broken."""

    def __init__(self) -> None:
        self.count, self.trouble, self.broken = 0, "", asyncio.Event()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Handler]:
        self.count += 1
        if self.trouble:
            raise ValueError(self.trouble)
        async with asyncio.TaskGroup() as tasks:
            breaking = tasks.create_task(self._break())
            yield lambda request: Reply(200, b'{"opened": %d}' % self.count)
            breaking.cancel()

    async def _break(self) -> None:
        await self.broken.wait()
        self.broken.clear()
        raise RuntimeError("it broke")


async def test_it_is_opened_once_when_somebody_asks_and_again_when_it_failed() -> None:
    opening = Opening()
    app = OnDemand("REST API", opening, again_after_s=0.01)
    async with app.running(), aiohttp.ClientSession() as session:
        server = await serve(app)

        async def ask() -> tuple[int, object]:
            async with session.get(f"http://127.0.0.1:{server.port}/") as answer:
                return answer.status, await answer.json()

        assert opening.count == 0
        assert await asyncio.gather(*(ask() for _ in range(5))) == [(200, {"opened": 1})] * 5
        opening.broken.set()
        await eventually(ask, lambda told: told == (200, {"opened": 2}))
        opening.trouble = "JWT_EXPIRY_HOURS makes no sense"
        opening.broken.set()
        told = {"detail": "the REST API is unavailable; the log of this process says why"}
        await eventually(ask, lambda each: each == (503, told))
        opening.trouble = ""
        await eventually(ask, lambda each: each[0] == 200)
        await server.stop()


async def test_an_opening_that_is_cancelled_from_within_is_tried_again() -> None:
    """As when it waits for a task that somebody else cancelled: then nobody asked this process to stop."""
    opened = 0

    @asynccontextmanager
    async def opening() -> AsyncIterator[Handler]:
        nonlocal opened
        opened += 1
        if opened == 1:
            raise asyncio.CancelledError
        yield lambda request: Reply(200, b"{}")

    app = OnDemand("REST API", opening, again_after_s=0.01)
    async with app.running(), aiohttp.ClientSession() as session:
        server = await serve(app)

        async def ask() -> int:
            async with session.get(f"http://127.0.0.1:{server.port}/") as answer:
                return answer.status

        async with asyncio.timeout(30):
            await eventually(ask, lambda status: status == 200)
        await server.stop()


async def test_an_opening_without_an_end_is_given_up_and_tried_again() -> None:
    opened = 0

    @asynccontextmanager
    async def opening() -> AsyncIterator[Handler]:
        nonlocal opened
        opened += 1
        if opened == 1:
            await asyncio.Event().wait()
        yield lambda request: Reply(200, b"{}")

    app = OnDemand("REST API", opening, again_after_s=0.01, open_within_s=0.05)
    async with app.running(), aiohttp.ClientSession() as session:
        server = await serve(app)

        async def ask() -> int:
            async with session.get(f"http://127.0.0.1:{server.port}/") as answer:
                return answer.status

        async with asyncio.timeout(30):
            await eventually(ask, lambda status: status == 200)
        assert opened == 2
        await server.stop()
