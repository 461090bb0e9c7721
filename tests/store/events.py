"""A watch as an asynchronous iterator, for readers that have a task of their own.

    async with watch(store, Scope("pods"), since=revision) as events:
        async for event in events: ...

Events wait in a buffer bounded by number and bytes. A reader that lets it overflow is cut off: it gets what was
buffered, then `SlowWatcherError`, and may watch again from its last event. The writer never waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from homeostat.store.base import Event, Scope, Store, StoreError, Subscription


class SlowWatcherError(StoreError):
    """The reader fell too far behind; what it missed is in the log."""

    def __init__(self, scope: Scope, last: int) -> None:
        super().__init__(
            f"{scope}: the watch ended after revision {last} because it was too slow; restart it from there"
        )
        self.last = last


class Watch:
    """Events of a scope, in order. Made by `watch`."""

    __slots__ = ("_buffer", "_bytes", "_last", "_max_bytes", "_max_events", "_scope", "_wake", "is_cut", "subscription")

    def __init__(self, scope: Scope, since: int, *, max_events: int, max_bytes: int) -> None:
        self._scope, self._last = scope, since
        self._buffer: deque[Event] = deque()
        self._bytes = 0
        self._max_events, self._max_bytes = max_events, max_bytes
        self.is_cut = False
        self._wake = asyncio.Event()
        self.subscription: Subscription | None = None

    def deliver(self, event: Event) -> None:
        if self.is_cut:
            return
        size = len(event.record.value)
        if self._buffer and (len(self._buffer) >= self._max_events or self._bytes + size > self._max_bytes):
            self.is_cut = True
            self.close()
        else:
            self._buffer.append(event)
            self._bytes += size
        self._wake.set()

    def close(self) -> None:
        if self.subscription is not None:
            self.subscription.close()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        while not self._buffer:
            if self.is_cut:
                raise SlowWatcherError(self._scope, self._last)
            self._wake.clear()
            await self._wake.wait()
        event = self._buffer.popleft()
        self._bytes -= len(event.record.value)
        self._last = event.record.revision
        return event


@asynccontextmanager
async def watch(
    store: Store, scope: Scope, *, since: int, max_events: int = 16_384, max_bytes: int = 64 << 20
) -> AsyncIterator[Watch]:
    """Open a watch; `CompactedError` and `FutureRevisionError` as `Store.subscribe`."""
    opened = Watch(scope, since, max_events=max_events, max_bytes=max_bytes)
    opened.subscription = await store.subscribe(scope, since=since, deliver=opened.deliver)
    if opened.is_cut:
        opened.close()
    try:
        yield opened
    finally:
        opened.close()
