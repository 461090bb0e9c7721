"""A real plane for each test, asked through its own handler: everything but the socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from homeostat.client.in_process import LocalStream
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import SELF

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Answer(msgspec.Struct):
    status: int
    headers: dict[str, list[str]]
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def reason(self) -> str:
        return str(self.json.get("reason", ""))


class Watch:
    """An open watch; `next` waits for an event of it."""

    def __init__(self, stream: LocalStream) -> None:
        self._stream = stream
        self._lines = stream.lines()

    async def next(self) -> tuple[str, Any]:
        line = await asyncio.wait_for(anext(self._lines), 30)
        event = msgspec.json.decode(line)
        return event["type"], event["object"]

    async def ends(self) -> bool:
        try:
            await asyncio.wait_for(anext(self._lines), 30)
        except StopAsyncIteration:
            return True
        return False

    async def is_silent(self, seconds: float = 0.05) -> bool:
        try:
            await asyncio.wait_for(anext(self._lines), seconds)
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        self._stream.close()


class Api:
    """What a client sees of a plane."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        type: str = "",  # noqa: A002
        headers: dict[str, str] | None = None,
        user: Any = SELF,
        **query: Any,
    ) -> Answer:
        answer = await self._ask(method, path, body, type=type, headers=headers, user=user, query=query)
        if isinstance(answer, StreamReply):
            assert answer.is_finite
            stream = LocalStream()
            answer.start(stream)
            body = b"".join([chunk async for chunk in stream.chunks()])
        else:
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        received: dict[str, list[str]] = {}
        for name, value in answer.headers:
            received.setdefault(name.lower(), []).append(value)
        return Answer(answer.status, received, answer.content_type, body)

    async def watch(self, path: str, *, headers: dict[str, str] | None = None, user: Any = SELF, **query: Any) -> Watch:
        answer = await self._ask("GET", path, None, headers=headers, user=user, query={"watch": "true", **query})
        assert isinstance(answer, StreamReply), answer
        stream = LocalStream()
        answer.start(stream)
        return Watch(stream)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        user: Any,
        query: dict[str, object],
        type: str = "",  # noqa: A002
        headers: dict[str, str] | None = None,
    ) -> Reply | StreamReply:
        sent = Headers()
        for name, value in {"host": "localhost", "user-agent": "tests/1", **(headers or {})}.items():
            sent.add(name, value)
        if type:
            sent.add("content-type", type)
        raw = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        texts = {name: str(value) for name, value in query.items()}
        connection = {"user": user} if user is not None else {}
        request = Request(method, path, urlencode(texts), sent, raw, Peer(""), connection)
        answer = self.plane.app.handle(request)
        return await answer if isinstance(answer, Awaitable) else answer


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@pytest.fixture
def api(plane: Plane) -> Api:
    return Api(plane)


def noting_threads(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> set[bool]:
    """Whether the function ran in the thread of the loop."""
    threads: set[bool] = set()
    run: Callable[..., Any] = getattr(owner, name)

    def noted(*args: Any, **more: Any) -> Any:
        threads.add(threading.current_thread() is threading.main_thread())
        return run(*args, **more)

    monkeypatch.setattr(owner, name, noted)
    return threads
