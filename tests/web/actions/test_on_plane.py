"""The REST API of a plane, which is served with the plane and opened when somebody asks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest

from homeostat.plane import FaceChoice, Place, Plane, Settings, open_plane
from tests.faces import face_url

OPERATORS = frozenset({"housekeeping", "actions"})
FREE = FaceChoice(shared=Place("127.0.0.1", 0))


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=OPERATORS, faces=FREE)
    async with open_plane(settings) as plane:
        yield plane


async def test_a_plane_answers_for_what_is_on_it(plane: Plane) -> None:
    assert face_url(plane, "rest").startswith("http://127.0.0.1:")
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{face_url(plane, 'rest')}/api/v1/resource-types") as answer:
            assert (answer.status, await answer.json()) == (200, [])
        async with session.post(
            f"{face_url(plane, 'rest')}/api/v1/resources", data=BytesIO(b"x" * (4 << 20))
        ) as answer:
            assert (answer.status, "detail" in await answer.json()) == (413, True)


async def test_a_plane_that_nobody_asks_imports_nothing_of_it(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from homeostat.plane import FaceChoice, Place, Settings, open_plane
async def main():
    settings = Settings(data=Path({str(tmp_path / "plane")!r}), port=0, faces=FaceChoice(shared=Place("127.0.0.1", 0)))
    async with open_plane(settings) as plane:
        await asyncio.sleep(0.5)
        assert any(each.face.name == "rest" for each in plane.faces)
        print([name for name in sys.modules if name.startswith(("homeostat.web", "aiohttp", "jwt"))])
asyncio.run(main())
"""
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    told, _ = await done.communicate()
    assert told.decode().strip() == "[]"
