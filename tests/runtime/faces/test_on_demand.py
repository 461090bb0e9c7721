"""An app is opened when somebody asks, and what goes wrong in it ends nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import aiohttp

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Handler, serve
from homeostat.runtime.faces.face import First
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


async def test_pages_that_need_few_imports_are_answered_before_the_app_is_open() -> None:
    opens, loaded, may_open = 0, list[int](), asyncio.Event()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Handler]:
        nonlocal opens
        opens += 1
        await may_open.wait()
        yield lambda request: Reply(200, b"from the app", "text/plain")

    def open_first() -> First:
        loaded.append(threading.get_ident())
        return _login

    app = OnDemand("dashboard", opening, open_first=open_first)
    async with app.running(), aiohttp.ClientSession() as session:
        server = await serve(app)

        async def ask(path: str) -> str:
            async with session.get(f"http://127.0.0.1:{server.port}{path}") as answer:
                return await answer.text()

        assert (opens, loaded) == (0, [])
        assert set(await asyncio.gather(ask("/login"), ask("/login"))) == {"sign in"}
        await eventually(lambda: opens, lambda count: count == 1)
        home = asyncio.ensure_future(ask("/"))
        assert await ask("/login") == "sign in"
        assert not home.done()
        may_open.set()
        assert await home == "from the app"
        assert await ask("/login") == "from the app"
        assert len(loaded) == 1
        assert threading.get_ident() not in loaded, "its imports do not hold up the event loop"
        await server.stop()


async def _sign_in() -> Answer:
    return Reply(200, b"sign in", "text/plain")


def _login(request: Request) -> Awaitable[Answer] | None:
    return _sign_in() if request.path == "/login" else None


async def test_after_a_failure_to_open_no_page_looks_as_if_the_app_were_there() -> None:
    opening = Opening()
    opening.trouble = "JWT_EXPIRY_HOURS makes no sense"
    app = OnDemand("dashboard", opening, open_first=lambda: _login)
    async with app.running(), aiohttp.ClientSession() as session:
        server = await serve(app)

        async def ask() -> int:
            async with session.get(f"http://127.0.0.1:{server.port}/login") as answer:
                return answer.status

        assert await ask() == 200
        await eventually(ask, lambda status: status == 503)
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
