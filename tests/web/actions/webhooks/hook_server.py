"""A webhook server that answers as a test says and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Server, serve
from homeostat.objects.json import Json, JsonObject


class HookServer:
    """Path by path: what is to be answered. A path without an answer allows."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, JsonObject]] = []
        self._answers: dict[str, Reply] = {}
        self._delays: dict[str, float] = {}
        self.server: Server | None = None

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        assert self.server is not None
        return f"http://{host}:{self.server.port}{path}"

    def answers(self, path: str, body: Json, *, status: int = 200, after_s: float = 0.0) -> str:
        """Returns the URL."""
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = (("Location", "/elsewhere"),) if 300 <= status < 400 else ()
        self._answers[path], self._delays[path] = Reply(status, raw, headers=headers), after_s
        return self.url(path)

    def allows(self, path: str, *patches: JsonObject) -> str:
        return self.answers(path, {"allowed": True, "patches": list(patches)})

    def denies(self, path: str, message: str = "") -> str:
        return self.answers(path, {"allowed": False, **({"message": message} if message else {})})

    async def handle(self, request: Request) -> Reply:
        self.asked.append((request.path, msgspec.json.decode(request.body)))
        await asyncio.sleep(self._delays.get(request.path, 0.0))
        return self._answers.get(request.path) or Reply(200, b'{"allowed": true}')


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


@asynccontextmanager
async def open_hook_server() -> AsyncIterator[HookServer]:
    hooks = HookServer()
    hooks.server = await serve(hooks.handle)
    try:
        yield hooks
    finally:
        await hooks.server.stop(grace_s=0.5)
