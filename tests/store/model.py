"""A store driven step by step beside a list of what it must have done; the checks compare the two.

Writes, watches, pages and compactions are started and not waited for, so that each falls between the start and the
answer of others. What a write returned is the model's log; everything a reader saw must follow from that log alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import NamedTuple

from homeostat.store.base import (
    CompactedError,
    Delete,
    Event,
    Key,
    Page,
    Put,
    Record,
    RevisionMismatchError,
    Scope,
    Store,
    Subscription,
)
from homeostat.store.history import covers
from tests.store.contract import StoreFactory, draft
from tests.store.events import SlowWatcherError, Watch, watch

KEYS = [Key(resource, namespace, name) for resource in ("pods", "nodes") for namespace in ("", "n") for name in "abc"]
SCOPES = [Scope("pods"), Scope("pods", "n"), Scope("pods", "n", "a"), Scope("nodes"), Scope("nodes", "", "b")]


class Line(NamedTuple):
    """One change of the model's log."""

    revision: int
    key: Key
    value: bytes
    is_deletion: bool


class Reader:
    """A subscriber that resumes by its last revision whenever it is cut off or the store restarts."""

    def __init__(self, scope: Scope, since: int) -> None:
        self.scope, self.since = scope, since
        self.last = since
        self.seen: list[Event] = []
        self.is_lost = False
        self._subscription: Subscription | None = None

    def deliver(self, event: Event) -> None:
        self.seen.append(event)
        self.last = event.record.revision

    async def open(self, store: Store) -> None:
        try:
            self._subscription = await store.subscribe(self.scope, since=self.last, deliver=self.deliver)
        except CompactedError:
            self.is_lost = True

    async def read(self, store: Store, count: int) -> None:
        """Subscribers are notified; they need not read."""

    async def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()


class SlowReader(Reader):
    """Reads from a buffer of two events, a few at a time."""

    _watch: Watch | None = None

    async def open(self, store: Store) -> None:
        self._context = watch(store, self.scope, since=self.last, max_events=2)
        try:
            self._watch = await self._context.__aenter__()
        except CompactedError:
            self.is_lost = True

    async def read(self, store: Store, count: int) -> None:
        for _ in range(count):
            if self.is_lost or self._watch is None:
                return
            try:
                async with asyncio.timeout(0):
                    self.deliver(await anext(self._watch))
            except TimeoutError:
                return
            except SlowWatcherError:
                await self.close()
                await self.open(store)

    async def close(self) -> None:
        if self._watch is not None:
            await self._context.__aexit__(None, None, None)
            self._watch = None


class Drive:
    def __init__(self, factory: StoreFactory, store: Store) -> None:
        self.store = store
        self.lines: list[Line] = []
        self._factory = factory
        self._started: list[asyncio.Task[None]] = []
        self._readers: list[Reader] = []
        self._pages: list[tuple[Scope, list[Page]]] = []

    def start(self, step: Coroutine[None, None, None]) -> None:
        self._started.append(asyncio.ensure_future(step))

    async def write(self, key: Key, text: str, *, is_deletion: bool) -> None:
        current = self.store.get(key)
        expect = current.revision if current else 0
        change = Delete(key, draft(text), expect) if is_deletion else Put(key, draft(text), expect)
        try:
            record = await self.store.write(change)
        except RevisionMismatchError:
            return
        assert self.store.revision >= record.revision
        self.lines.append(Line(record.revision, key, record.value, is_deletion))

    async def watch(self, scope: Scope, back: int, *, is_slow: bool) -> None:
        since = max(self.store.oldest, self.store.revision - back)
        reader = (SlowReader if is_slow else Reader)(scope, since)
        self._readers.append(reader)
        await reader.open(self.store)

    async def read(self, count: int) -> None:
        for reader in self._readers:
            await reader.read(self.store, count)

    async def page(self, scope: Scope, back: int, limit: int) -> None:
        at = max(self.store.oldest, self.store.revision - back)
        after: tuple[str, str] | None = None
        pages: list[Page] = []
        self._pages.append((scope, pages))
        while True:
            try:
                page = await self.store.page(scope, at=at, after=after, limit=limit)
            except CompactedError:
                return
            assert page.revision == at
            assert not limit or len(page.records) <= limit
            pages.append(page)
            if not page.remaining:
                return
            after = page.records[-1].key[1:]

    async def compact(self, back: int) -> None:
        await self.store.compact(self.store.revision - back)

    async def restart(self, history_events: int) -> None:
        await self.settle()
        for reader in self._readers:
            await reader.read(self.store, 1000)
            await reader.close()
        await self.store.close()
        self.store = await self._factory.open(history_events=history_events)
        for reader in self._readers:
            await reader.open(self.store)

    async def settle(self) -> None:
        await asyncio.gather(*self._started)
        self._started = []

    async def finish(self) -> None:
        await self.settle()
        for reader in self._readers:
            await reader.read(self.store, 1000)
        self.lines = sorted(set(self.lines))  # a write that changed nothing reported one that is there already
        self._check_log()
        for reader in self._readers:
            self._check_reader(reader)
        self._check_pages()
        for scope in SCOPES:
            assert list(self.store.select(scope)) == self._state(scope, self.store.revision)
        for reader in self._readers:
            await reader.close()

    def _check_log(self) -> None:
        assert [line.revision for line in self.lines] == list(range(1, self.store.revision + 1))

    def _check_reader(self, reader: Reader) -> None:
        expected = [line for line in self.lines if line.revision > reader.since and covers(reader.scope, line.key)]
        seen = [Line(e.record.revision, e.record.key, e.record.value, e.type == "DELETED") for e in reader.seen]
        assert seen == (expected[: len(seen)] if reader.is_lost else expected)
        for event in reader.seen:
            before = self._state(Scope(*event.record.key), event.record.revision - 1)
            assert ([event.previous] if event.previous else []) == before
            assert (event.type == "ADDED") == (event.previous is None)

    def _check_pages(self) -> None:
        for scope, pages in self._pages:
            taken: list[Record] = []
            for page in pages:
                taken += page.records
                whole = self._state(scope, page.revision)
                assert taken == whole[: len(taken)]
                assert page.remaining == len(whole) - len(taken)

    def _state(self, scope: Scope, at: int) -> list[Record]:
        found: dict[Key, Record] = {}
        for line in self.lines[:at]:
            if covers(scope, line.key):
                before = found.pop(line.key, None)
                if not line.is_deletion:
                    created = before.created if before else line.revision
                    found[line.key] = Record(line.key, line.value, line.revision, created)
        return [found[key] for key in sorted(found)]
