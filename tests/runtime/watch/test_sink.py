"""A watcher that writes to a sink which keeps nothing, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress

import pytest

from homeostat.objects.json import encode
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import Projection, UnreadableObject
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Pace, Watcher
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod, pod
from tests.runtime.watch.test_watcher import line, mark


class Diary:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.version = 0
        self.told: list[str] = []

    def listing(self) -> DiaryListing:
        self.told.append("list")
        return DiaryListing(self)

    def put(self, obj: Pod) -> None:
        self.told.append(f"+{obj.metadata.name}")

    def remove(self, obj: Pod) -> None:
        self.told.append(f"-{obj.metadata.name}")

    def leave_out(self, unreadable: UnreadableObject) -> None:
        self.told.append(f"?{unreadable.name}")

    def advance(self, version: int) -> None:
        self.version = version


class DiaryListing:
    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    def put(self, obj: Pod) -> None:
        self._diary.told.append(f"+{obj.metadata.name}")

    def leave_out(self, unreadable: UnreadableObject) -> None:
        self._diary.told.append(f"?{unreadable.name}")

    def swap(self, version: int) -> list[Change[Pod]]:
        self._diary.told.append("listed")
        self._diary.version = version
        return []


class Api:
    """The first watch has a script, the others say nothing."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = list(lines)
        self.asked: list[object] = []

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes:
        raise AssertionError("not asked for")

    async def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]:
        self.asked.append(query.get("resourceVersion"))
        while self._lines:
            yield self._lines.pop(0)
        if len(self.asked) > 1:
            await asyncio.sleep(1e6)


UNREADABLE = encode({"type": "MODIFIED", "object": {"metadata": {"name": "web", "resourceVersion": "9", "labels": 1}}})


@pytest.mark.parametrize(
    ("lines", "told", "asked"),
    [
        ([line("ADDED", pod("a")), mark(5, ends=True)], ["list", "+a", "listed"], [None, 5]),
        (
            [line("ADDED", pod("a")), line("DELETED", pod("a")), mark(5, ends=True)],
            ["list", "+a", "listed", "-a"],
            [None, 5],
        ),
        (
            [mark(5, ends=True), line("MODIFIED", pod("a")), line("DELETED", pod("a")), mark(8)],
            ["list", "listed", "+a", "-a"],
            [None, 8],
        ),
        ([mark(5, ends=True), UNREADABLE], ["list", "listed", "?web"], [None, 5]),
        ([UNREADABLE, mark(5, ends=True)], ["list", "?web", "listed"], [None, 5]),
    ],
    ids=["as they come", "gone while listed", "changes", "what cannot be read", "what cannot be read in a list"],
)
def test_a_sink_gets_everything_in_the_order_of_the_server(
    lines: list[bytes], told: list[str], asked: list[object]
) -> None:
    api, diary = Api(*lines), Diary()

    @virtual_time
    async def watch() -> None:
        pace = Pace(backoff=Backoff(first_s=1, spread=0))
        watcher = Watcher(api, Source("/pods"), Projection(Pod), writer=diary, pace=pace)
        with suppress(TimeoutError):
            async with asyncio.timeout(20):
                await watcher.run()

    watch()
    assert (diary.told, api.asked) == (told, asked)
