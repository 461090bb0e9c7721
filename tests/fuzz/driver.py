"""A plane asked by code that does not wait: its loop runs only while a question is open.

Hypothesis calls plain functions, thousands of times; one plane serves them all. `send` goes the way of a request from
the wire, without the socket, and notes whether the store moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from homeostat.client.in_process import LocalStream
from homeostat.edge.loop import loop_factory
from homeostat.edge.reply import Reply, head_of
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects import yaml
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import SELF

_JSON = msgspec.json.Decoder()


class Answer(msgspec.Struct):
    status: int
    content_type: str
    body: bytes
    has_written: bool
    """The store's revision moved meanwhile."""
    took_s: float
    """CPU time of this process, which is the server too: a busy machine takes no more of it."""
    header_bytes: int

    @property
    def json(self) -> Any:
        """The value of the body. An error is in YAML for who accepts nothing else."""
        return yaml.load(self.body) if "yaml" in self.content_type else _JSON.decode(self.body)


class Driver:
    def __init__(self, plane: Plane, loop: asyncio.AbstractEventLoop) -> None:
        self.plane = plane
        self._loop = loop

    def send(
        self,
        method: str,
        path: str,
        body: Any = b"",
        *,
        query: str = "",
        type: str = "",  # noqa: A002
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """`body` is bytes as they are, or a value to encode as JSON."""
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        sent = Headers()
        for name, value in {"host": "localhost", "user-agent": "fuzz/1", **(headers or {})}.items():
            sent.add(name, value)
        if type:
            sent.add("content-type", type)
        request = Request(method, path, query, sent, raw, Peer(""), {"user": SELF})
        return self._loop.run_until_complete(self._ask(request))

    async def _ask(self, request: Request) -> Answer:
        before, began = self.plane.store.revision, process_time()
        answer = self.plane.app.handle(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        # What cannot be written to the wire would be a 500 there.
        head = head_of(answer.status, answer.content_type, answer.headers)
        if isinstance(answer, Reply):
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        else:
            body = await self._first_of(answer.start)
        has_written = self.plane.store.revision != before
        return Answer(answer.status, answer.content_type, body, has_written, process_time() - began, len(head))

    async def _first_of(self, start: Any) -> bytes:
        """A stream is opened, read and closed."""
        stream = LocalStream()
        start(stream)
        await asyncio.sleep(0)
        stream.close()
        await asyncio.sleep(0)
        return b""


@contextmanager
def driven_plane(data: Path) -> Iterator[Driver]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        loop = runner.get_loop()
        opened: asyncio.Future[Plane] = loop.create_future()
        stop = asyncio.Event()
        task = loop.create_task(_live(data, opened, stop))
        either: list[asyncio.Future[Any]] = [task, opened]
        loop.run_until_complete(asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED))
        if task.done():
            task.result()
        try:
            yield Driver(opened.result(), loop)
        finally:
            stop.set()
            loop.run_until_complete(task)


async def _live(data: Path, opened: asyncio.Future[Plane], stop: asyncio.Event) -> None:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        opened.set_result(plane)
        await stop.wait()


class Faults(logging.Handler):
    """Errors that the server logged: each is a request it failed on."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def assert_answered_well(answer: Answer) -> None:
    """No answer is the server's own fault, a refusal is a `Status` that says so, and stores nothing."""
    assert answer.status < 500, answer
    if answer.status < 300:
        return
    assert not answer.has_written, answer
    if answer.status == 304:
        return
    status = answer.json
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure"), answer
    assert status["code"] == answer.status
    assert status["reason"], answer
    assert status["message"], answer
    assert "Traceback" not in status["message"]
