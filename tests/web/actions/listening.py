"""A reader of server-sent events, as browsers read them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp

from tests.web.actions.calling import API

WITHIN_S = 10.0


class Delivered(NamedTuple):
    type: str
    data: Any
    id: str

    @property
    def name(self) -> str:
        found: str = self.data["resource_name"]
        return found

    @property
    def short(self) -> tuple[str, str]:
        return self.type, self.name


class Listener:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.comments: list[str] = []
        self.last_id = ""
        self.raw: list[str] = []

    async def next(self) -> Delivered:
        """The next event; `EOFError` at the end of the stream."""
        async with asyncio.timeout(WITHIN_S):
            return await self._next()

    async def until(self, holds: Callable[[Delivered], bool]) -> list[Delivered]:
        """All up to the first of which it holds."""
        told = [await self.next()]
        while not holds(told[-1]):
            told.append(await self.next())
        return told

    async def silent_for(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._next()
        except TimeoutError:
            return True
        return False

    async def _next(self) -> Delivered:
        fields: dict[str, str] = {}
        while True:
            line = (await self.response.content.readline()).decode()
            if not line:
                raise EOFError
            self.raw.append(line)
            name, _, value = line.rstrip("\n").partition(": ")
            if line.startswith(":"):
                self.comments.append(line.strip())
            elif line != "\n":
                fields[name] = value
            elif "data" in fields:
                self.last_id = fields.get("id", self.last_id)
                return Delivered(fields["event"], json.loads(fields["data"]), self.last_id)


@asynccontextmanager
async def listening(url: str, path: str = "/events", *, last: str = "", **headers: str) -> AsyncIterator[Listener]:
    """From its first line on, which says that it follows."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if last:
        named["Last-Event-ID"] = last
    async with (
        aiohttp.ClientSession(read_bufsize=1 << 22) as session,
        session.get(f"{url}{API}{path}", headers=named) as response,
    ):
        assert response.status == 200, await response.text()
        listener = Listener(response)
        assert await response.content.readline() == b": following\n"
        await response.content.readline()
        yield listener
