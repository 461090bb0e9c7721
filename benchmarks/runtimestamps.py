"""When the stamps of an operator show: a watch of the measuring process, by its own clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing, asynccontextmanager
from time import perf_counter

import msgspec

from benchmarks import widgets
from benchmarks.load import UnexpectedAnswerError
from homeostat.client.base import Client

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

    def take(self, line: bytes) -> None:
        now = perf_counter()
        widget = _event.decode(line).object
        self.revision = widget.metadata.resource_version
        if widget.status.phase:
            self.first.setdefault(widget.metadata.name, now)
            if widget.status.phase.startswith(MARK):
                self.marked.setdefault(widget.status.phase, now)
            if self._waiters:
                self._release()

    async def _until(self, is_so: Callable[[], bool], within_s: float) -> None:
        if not is_so():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((is_so, waiter))
            try:
                await asyncio.wait_for(waiter, within_s)
            except TimeoutError:
                told = f"{len(self.first)} objects and {len(self.marked)} marks"
                raise UnexpectedAnswerError(f"after {within_s:g} s only {told} are stamped") from None

    def _release(self) -> None:
        for entry in [each for each in self._waiters if each[0]()]:
            self._waiters.remove(entry)
            if not entry[1].done():
                entry[1].set_result(None)


@asynccontextmanager
async def see_stamps(client: Client, revision: str) -> AsyncIterator[Stamps]:
    """Everything after the revision, while the block runs."""
    stamps = Stamps(revision)

    async def follow() -> None:
        # A server ends the watch of who is slow to read, as this process may be while others have the cores.
        while True:
            async with aclosing(client.lines(widgets.COLLECTION, resourceVersion=stamps.revision)) as lines:
                async for line in lines:
                    stamps.take(line)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follow())
        try:
            yield stamps
        finally:
            task.cancel()
