"""When the stamps of an operator show: a watch of the measuring process, by its own clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from time import perf_counter
from typing import cast

import httptools
import msgspec

from benchmarks import widgets
from benchmarks.load import UnexpectedAnswerError
from benchmarks.target import Target

MARK = "mark-"
"""What a change writes into its object begins so, and an operator repeats it in its stamp."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Widget(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


class _Event(msgspec.Struct, frozen=True):
    object: _Widget


_event = msgspec.json.Decoder(_Event)


class Stamps:
    """`first` has the objects that were stamped, `marked` the marks that a stamp repeated, each with its time."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.first: dict[str, float] = {}
        self.marked: dict[str, float] = {}
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    async def stamped(self, objects: int, *, within_s: float) -> None:
        await self._until(lambda: len(self.first) >= objects, within_s)

    async def repeated(self, marks: Collection[str], *, within_s: float) -> None:
        missing = set(marks)

        def is_complete() -> bool:
            missing.difference_update(missing & self.marked.keys())
            return not missing

        await self._until(is_complete, within_s)

    def take(self, line: bytes, at: float) -> None:
        widget = _event.decode(line).object
        self.revision = widget.metadata.resource_version
        if widget.status.phase:
            self.first.setdefault(widget.metadata.name, at)
            if widget.status.phase.startswith(MARK):
                self.marked.setdefault(widget.status.phase, at)
            if self._waiters:
                self._release()

    async def _until(self, is_so: Callable[[], bool], within_s: float) -> None:
        if not is_so():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((is_so, waiter))
            try:
                await asyncio.wait_for(waiter, within_s)
            except TimeoutError:
                counts = f"{len(self.first)} objects and {len(self.marked)} marks"
                raise UnexpectedAnswerError(f"after {within_s:g} s only {counts} are stamped") from None

    def _release(self) -> None:
        for entry in [each for each in self._waiters if each[0]()]:
            self._waiters.remove(entry)
            if not entry[1].done():
                entry[1].set_result(None)


class _Watch(asyncio.Protocol):
    """As bare as a generator's connection: what it costs is taken from the cores of those who are measured."""

    def __init__(self, request: bytes, stamps: Stamps) -> None:
        self._request, self._stamps = request, stamps
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._at = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self._at = perf_counter()
        self._parser.feed_data(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self._end()

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status != 200 and not self.ended.done():
            self.ended.set_exception(UnexpectedAnswerError(f"the watch of stamps was answered with {status}"))

    def on_body(self, part: bytes) -> None:
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            self._stamps.take(line, self._at)

    def on_message_complete(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


@asynccontextmanager
async def see_stamps(target: Target, revision: str) -> AsyncIterator[Stamps]:
    """Everything after the revision, while the block runs."""
    stamps, context = Stamps(revision), target.context()
    loop = asyncio.get_running_loop()

    async def follow() -> None:
        # A server ends the watch of who is slow to read, as this process may be while others have the cores.
        while True:
            path = f"{widgets.COLLECTION}?watch=true&resourceVersion={stamps.revision}"
            watch = _Watch(target.request("GET", path), stamps)
            transport, _ = await loop.create_connection(lambda it=watch: it, target.host, target.port, ssl=context)
            try:
                await watch.ended
            finally:
                transport.abort()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follow())
        try:
            yield stamps
        finally:
            task.cancel()
