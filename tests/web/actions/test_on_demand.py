"""The REST API of a plane is opened when somebody asks, and what goes wrong in it does not end the plane."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest

from homeostat.edge.reply import Reply
from homeostat.edge.server import Handler, serve
from homeostat.plane import Plane, Rest, Settings, open_plane
from homeostat.plane.rest import OnDemand
from homeostat.testing.eventually import eventually

OPERATORS = frozenset({"housekeeping", "actions"})


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
    app = OnDemand(opening, again_after_s=0.01)
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
        told = {"detail": f"the REST API cannot be served now: {opening.trouble}"}
        await eventually(ask, lambda each: each == (503, told))
        opening.trouble = ""
        await eventually(ask, lambda each: each[0] == 200)
        await server.stop()


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=OPERATORS, rest=Rest(port=0))
    async with open_plane(settings) as plane:
        yield plane


async def test_a_plane_answers_for_what_is_on_it(plane: Plane) -> None:
    assert plane.rest_url.startswith("http://127.0.0.1:")
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{plane.rest_url}/api/v1/resource-types") as answer:
            assert (answer.status, await answer.json()) == (200, [])
        async with session.post(f"{plane.rest_url}/api/v1/resources", data=BytesIO(b"x" * (4 << 20))) as answer:
            assert (answer.status, "detail" in await answer.json()) == (413, True)


async def test_a_plane_that_nobody_asks_imports_nothing_of_it(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from homeostat.plane import Rest, Settings, open_plane
async def main():
    settings = Settings(data=Path({str(tmp_path / "plane")!r}), port=0, rest=Rest(port=0))
    async with open_plane(settings) as plane:
        await asyncio.sleep(0.5)
        assert plane.rest_url
        print([name for name in sys.modules if name.startswith(("homeostat.web", "aiohttp", "jwt"))])
asyncio.run(main())
"""
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    told, _ = await done.communicate()
    assert told.decode().strip() == "[]"
