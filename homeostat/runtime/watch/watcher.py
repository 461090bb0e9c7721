"""Keeps a cache, or another sink, equal to the state of a server: lists, then watches, and never ends by itself.

    Streaming ──▶ Watching        the state as the first events of a watch, where the server can
    Listing ──▶ Listing ──▶ ...   page by page where it cannot
    Watching ──▶ Watching         resumed at the newest version that was seen
    Watching ──▶ Streaming        after 410 Gone, or another error that makes the version useless

Between two attempts it is `Waiting`. Promises, each tested:

- a stream that breaks, is refused for now or is closed is resumed where it was; no event is lost
- a stream without any event for `silence_s`, although bookmarks were requested, is closed and resumed; if there is no
  event on the new one either, the resource version is no longer trusted
- the delay grows with consecutive failures; only a watch that works resets it, so that a server that lists well but
  expires every watch does not have to list again and again

A `Comparison` beside it finds the events that a faulty proxy drops. All times are measured with the clock of the event
loop, because the wall clock may jump.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Generic, Never, TypeVar

import msgspec
from msgspec.structs import replace

from homeostat.objects.errors import ApiError, BadRequestError, InvalidError, NotFoundError, error_of
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import (
    Added,
    Bookmark,
    Deleted,
    Event,
    Modified,
    Page,
    Projected,
    Projection,
    Refused,
    UnreadableObject,
)
from homeostat.runtime.watch.phase import (
    FAILURES,
    Listing,
    Phase,
    SilentError,
    State,
    Streaming,
    UnheardError,
    Waiting,
    Watching,
    after_failure,
)
from homeostat.runtime.watch.sink import Sink, SinkListing
from homeostat.runtime.watch.source import Api, Source

log = logging.getLogger(__name__)

V = TypeVar("V", bound=Projected)
_REWIND_EVERY_S = 1.0
_YIELD_EVERY = 256
_DELETED_KIND_S = 5.0
"""How long after the deletion of a kind its watch may go on without a warning: whoever keeps it ends it."""
_CANNOT_STREAM = (BadRequestError, InvalidError, SilentError, UnheardError)
_BACKOFF = Backoff(first_s=0.1, cap_s=30.0)


class Pace(msgspec.Struct, frozen=True):
    backoff: Backoff = _BACKOFF
    silence_s: float = 75.0
    steady_s: float = 10.0
    """A stream that was open for this long worked, even without events."""
    relist_every_s: float = 3600.0
    longest_retry_after_s: float = 300.0
    page: int = 500


def _notify_nobody(change: Change[object]) -> None:
    """For a sink that notifies its readers itself."""


class Watcher(Generic[V]):
    """Writes to the sink and delivers each change. `state`, `restarts`, `relists` and `unreadable` are for metrics."""

    def __init__(
        self,
        api: Api,
        source: Source,
        projection: Projection[V],
        *,
        writer: Sink[V],
        notify: Callable[[Change[V]], None] = _notify_nobody,
        pace: Pace = Pace(),  # noqa: B008
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.synced = asyncio.Event()
        """The first list is in the cache, and the handlers have all its changes."""
        self.restarts = 0
        self.relists = 0
        self.unreadable = 0
        self.is_notifying_list = False
        """Whether the delivered changes come from a list and not from events."""
        self._api, self._source, self._projection = api, source, projection
        self._writer, self._notify = writer, notify
        self._pace, self._chance = pace, chance
        self._start: Streaming | Listing = Streaming()
        self.state: State = self._start
        self._listing: SinkListing[V] | None = None
        self._gone: list[V | UnreadableObject] = []
        self._heard_at: float | None = None
        self._is_progressing = self._is_troubled = False
        self._missing_since: float | None = None

    @property
    def path(self) -> str:
        return self._source.path

    @property
    def last_event_age_s(self) -> float:
        """Seconds since the last event or list of this watch; infinite before the first."""
        return float("inf") if self._heard_at is None else asyncio.get_running_loop().time() - self._heard_at

    async def run(self) -> Never:
        loop = asyncio.get_running_loop()
        phase: Phase = self._start
        failures = 0
        while True:
            self.state, self._is_progressing = phase, False
            began, error = loop.time(), None
            try:
                following = await self._step(phase)
                if following is not None:
                    phase = following
                    continue
            except FAILURES as caught:
                error = caught
            is_steady = self._is_steady(loop.time() - began, error)
            phase = self._recover(error)
            if is_steady or (self._is_progressing and isinstance(phase, Watching)):
                failures = 0
            if error is not None or not is_steady:
                failures += 1
                await self._wait(failures, error, phase)

    async def _step(self, phase: Phase) -> Phase | None:
        """The next phase; None if the server has closed the stream."""
        if isinstance(phase, Listing):
            return await self._list(phase)
        await self._read(phase)
        return None

    def _recover(self, error: Exception | None) -> Phase:
        self.restarts += 1
        reached = self.state
        assert not isinstance(reached, Waiting)
        if isinstance(reached, Streaming) and isinstance(error, _CANNOT_STREAM):
            # The server is too old to stream lists; do not try again.
            self._start = Listing()
        return after_failure(reached, error, start=self._start)

    def _is_steady(self, lived_s: float, error: Exception | None) -> bool:
        is_watch = isinstance(self.state, Watching) and not isinstance(error, SilentError | UnheardError)
        return is_watch and lived_s >= self._pace.steady_s

    async def _wait(self, failures: int, error: Exception | None, then: Phase) -> None:
        delay_s = self._pace.backoff.delay_s(failures, self._chance())
        if isinstance(error, ApiError):
            delay_s = max(delay_s, min(error.retry_after_s, self._pace.longest_retry_after_s))
        reason = str(error) or type(error).__name__ if error is not None else "the server closed the stream at once"
        self.state = Waiting(delay_s, reason, then)
        # A server that stops closes its streams first. The next attempt shows whether it failed.
        is_new = failures & (failures - 1) == 0 and not (error is None and failures == 1)
        is_worth_a_warning = is_new and not self._is_just_deleted(error)
        level = logging.WARNING if is_worth_a_warning else logging.DEBUG
        log.log(level, "watch failed", extra={"path": self.path, "reason": reason, "failures": failures})
        self._is_troubled = self._is_troubled or is_worth_a_warning
        await asyncio.sleep(delay_s)

    def _is_just_deleted(self, error: Exception | None) -> bool:
        """Whether the kind was served a moment ago, and is not any more."""
        if not isinstance(error, NotFoundError) or not self.synced.is_set():
            self._missing_since = None
            return False
        now = asyncio.get_running_loop().time()
        self._missing_since = now if self._missing_since is None else self._missing_since
        return now - self._missing_since < _DELETED_KIND_S

    def _begin(self) -> SinkListing[V]:
        if self.synced.is_set():
            self.relists += 1
        self._gone = []
        self._listing = self._writer.listing()
        return self._listing

    async def _list(self, phase: Listing) -> Phase:
        listing = self._listing if phase.token and self._listing is not None else self._begin()
        page = await self.fill(listing, phase)
        self._heard_at = asyncio.get_running_loop().time()
        if page.token:
            return replace(phase, token=page.token)
        self._swap(listing, page.version)
        return Watching()

    async def fill(self, listing: SinkListing[V], phase: Listing) -> Page[V]:
        """Reads the page of the phase into the listing."""
        limit = self._pace.page if phase.is_paged else ""
        query = self._source.query() | {"limit": limit, "continue": phase.token}
        async with asyncio.timeout(self._pace.silence_s):
            body = await self._api.fetch(
                "GET", self.path, query, accept=self._source.accept("PartialObjectMetadataList")
            )
        page = self._projection.page(body)
        for obj in page.objects:
            listing.put(obj)
        for unreadable in page.unreadable:
            self._report_unreadable(unreadable)
            listing.leave_out(unreadable)
        return page

    async def _read(self, phase: Streaming | Watching) -> None:
        if isinstance(phase, Streaming):
            self._begin()
        else:
            self._listing = None
        opened_at = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._pace.silence_s) as watchdog, aclosing(self._open(phase)) as lines:
                await self._follow(lines, watchdog)
        except TimeoutError:
            if not watchdog.expired():
                raise
            is_heard = self._heard_at is not None and self._heard_at >= opened_at
            silence = SilentError if is_heard else UnheardError
            raise silence(f"nothing came for {self._pace.silence_s:g} s") from None

    def _open(self, phase: Streaming | Watching) -> AsyncGenerator[bytes, None]:
        query = self._source.query() | {"allowWatchBookmarks": "true"}
        if isinstance(phase, Streaming):
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query |= {"resourceVersion": self._writer.version}
        return self._api.lines(self.path, accept=self._source.accept("PartialObjectMetadata"), **query)

    async def _follow(self, lines: AsyncGenerator[bytes, None], watchdog: asyncio.Timeout) -> None:
        now = asyncio.get_running_loop().time
        decode = self._projection.event
        rewind_s = min(_REWIND_EVERY_S, self._pace.silence_s / 8)
        rewound_at, count = now(), 0
        async for line in lines:
            self._heard_at = heard_at = now()
            if heard_at - rewound_at >= rewind_s:
                # Not for each line, because a timer costs more than an event.
                rewound_at = heard_at
                watchdog.reschedule(heard_at + self._pace.silence_s)
            self._take(decode(line))
            if self._is_troubled:
                self._is_troubled = False
                log.info("watch recovered", extra={"path": self.path})
            count += 1
            if count % _YIELD_EVERY == 0:
                # Many buffered lines must not block the event loop.
                await asyncio.sleep(0)

    def _take(self, event: Event[V]) -> None:
        listing = self._listing
        match event:
            case Added(object=obj) | Modified(object=obj) if listing is None:
                self._apply(self._writer.put(obj))
            case Added(object=obj) | Modified(object=obj) if listing is not None:
                listing.put(obj)
            case Deleted(object=obj) if listing is None:
                self._apply(self._writer.remove(obj))
            case Deleted(object=obj):
                self._gone.append(obj)
            case Bookmark() if listing is None:
                self._writer.advance(event.version)
                self._is_progressing = True
            case Bookmark() if event.ends_initial_events and listing is not None:
                self._swap(listing, event.version)
            case Refused(object=status):
                raise error_of(status)
            case UnreadableObject():
                self._leave_out(event)

    def _apply(self, change: Change[V] | None) -> None:
        self._is_progressing = True
        if change is not None:
            self._notify(change)

    def _swap(self, listing: SinkListing[V], version: int) -> None:
        self._listing = None
        changes = listing.swap(version)
        # Removed while the list was being sent, and not created again.
        changes += [change for obj in self._gone if (change := self._remove(obj)) is not None]
        self._gone = []
        self.state = Watching()
        self.notify_list(changes)
        self.synced.set()

    def _remove(self, obj: V | UnreadableObject) -> Change[V] | None:
        return self._writer.leave_out(obj) if isinstance(obj, UnreadableObject) else self._writer.remove(obj)

    def notify_list(self, changes: Iterable[Change[V]]) -> None:
        """Delivers the differences between a list and the former state."""
        self.is_notifying_list = True
        try:
            for change in changes:
                self._notify(change)
        finally:
            self.is_notifying_list = False

    def _leave_out(self, unreadable: UnreadableObject) -> None:
        if not unreadable.is_gone:
            self._report_unreadable(unreadable)
        if self._listing is None:
            self._apply(self._writer.leave_out(unreadable))
        elif unreadable.is_gone:
            self._gone.append(unreadable)
        else:
            self._listing.leave_out(unreadable)

    def _report_unreadable(self, unreadable: UnreadableObject) -> None:
        self.unreadable += 1
        name = f"{unreadable.namespace}/{unreadable.name}"
        fields = {"path": self.path, "object": name, "reason": unreadable.reason}
        log.error("unreadable object: does not match the expected schema", extra=fields)
