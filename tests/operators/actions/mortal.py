"""A process with a plane and an operator that is killed after so many writes; the effects are lines of a file.

    python -m tests.operators.actions.mortal DATA WRITES

It ends by itself once the one resource is ready, or gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.errors import NotFoundError
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.operators.actions.things import ShelfPlugin, Things, managed


class Mortal:
    """Kills the process right after a write was answered: whoever asked never hears of it."""

    def __init__(self, transport: Transport, writes: int) -> None:
        self._transport, self._left = transport, writes

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        answer = await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        if method != "GET" and ("/things/" in path or "/reconciliations" in path) and answer.status < 300:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return answer

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


class FilePlugin(ShelfPlugin):
    """Its things are lines `name=text` of one file, the last of a name counting; each effect adds a line."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.things = _FileThings(path)


class _FileThings(dict[str, str]):
    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines() if path.exists() else []
        super().__init__((name, text) for name, _, text in (line.partition("=") for line in lines))
        self._path = path

    def __setitem__(self, name: str, text: str) -> None:
        super().__setitem__(name, text)
        with self._path.open("a") as file:
            file.write(f"{name}={text}\n")

    def pop(self, name: str, *_: object) -> str:
        if self.get(name):
            self[name] = ""
        return ""


async def main(data: Path, writes: int) -> None:
    things = Things("shelf", {}, data / "work", shelf=FilePlugin(data / "effects"))
    settings = Settings(data=data / "plane", port=0, is_open=True, operators=frozenset())
    async with open_plane(settings) as plane:
        mortal = plane.client.over(lambda transport: Mortal(transport, writes))
        async with managed(mortal, things):
            await eventually(lambda: _is_settled(plane.client, things), within_s=20)


async def _is_settled(client: Client, things: Things) -> bool:
    with suppress(NotFoundError):
        obj = await client.get(things.path("one"))
        is_ready = condition_of(obj, "Ready").get("status") == "True"
        return is_ready and "deletionTimestamp" not in obj["metadata"]
    return True


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
