"""Records Events about objects, as `kubectl describe` shows them.

    recorder = Recorder(client, "gitops.homeostat.dev")
    recorder.record(about, "Warning", "CloneFailed", "the repository asks for a password")

Promises, each with a test of the same name:

- recording never fails and never waits
- a repeated event is counted and not written again
- an object with too many events is rate limited, and others are not
- waiting events are bounded in bytes, and those of one object in number, so that it cannot use the place of others
- events that are dropped are counted and logged

Events are best effort: one that the server refuses is dropped, and a series of refusals is logged once. `run` writes
the recorded events, and after `close` the rest; `flush` writes the waiting events if `run` does not run. When
thousands of objects are reconciled for the first time, their Events wait until the server has accepted them.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.time.timestamp import format_time
from homeostat.runtime.control.hot_loop_limit import Breaker

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

# The older form of what `kinds.EVENT` is the newer one of: its count and times are what every kubectl shows.
_KIND = Kind("", "v1", "events", "Event", is_namespaced=True)
_LONGEST_REASON, _LONGEST_MESSAGE, _LONGEST_NAME = 128, 1024, 200
_MOST_SERIES = 4096
_AT_ONCE = 8
"""Writes at the same time; a server commits many of them together."""
MOST_WAITING_BYTES = 32 << 20
MOST_WAITING_EACH = 25
_OVERHEAD_BYTES = 512
"""Of a waiting Event, beside its texts."""
_unnameable = re.compile(r"[^a-z0-9-]+").sub


class About(NamedTuple):
    """The object of an Event. Events of a cluster-scoped object are in the namespace `default`."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    def reference(self) -> JsonObject:
        fields = ("apiVersion", "kind", "namespace", "name", "uid")
        return {field: value for field, value in zip(fields, self, strict=True) if value}


class _Saying(NamedTuple):
    """What makes two Events the same one."""

    about: About
    type: EventType
    reason: str
    message: str
    by: str

    @property
    def size(self) -> int:
        about = self.about
        texts = (about.namespace, about.name, about.uid, self.reason, self.message)
        return _OVERHEAD_BYTES + sum(map(len, texts))


class _Waiting(msgspec.Struct):
    """The number of repetitions since the last write."""

    count: int
    first: datetime
    last: datetime


class _Series(msgspec.Struct):
    """An Event on the server; `count` is the right count, which a rate-limited Event does not have yet."""

    name: str
    count: int
    recorded_at: float


class Recorder:
    """Create it inside a running event loop. `written`, `dropped` and `failed` are counters."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        instance: str = "",
        ration: Breaker[About] | None = None,
        same_within_s: float = 600.0,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        suffix: Callable[[], str] = lambda: uuid.uuid4().hex[:16],
    ) -> None:
        self.written = self.dropped = self.failed = 0
        self._client, self._component, self._instance = client, component, instance or component
        self._ration = Breaker(burst=25, refill_s=300.0) if ration is None else ration
        self._same_within_s, self._most_waiting_bytes = same_within_s, most_waiting_bytes
        self._now, self._suffix = now, suffix
        self._loop = asyncio.get_running_loop()
        self._waiting: OrderedDict[_Saying, _Waiting] = OrderedDict()
        self._waiting_bytes = 0
        self._waiting_each: Counter[About] = Counter()
        self._series: OrderedDict[_Saying, _Series] = OrderedDict()
        self._wake = asyncio.Event()
        self._is_closing = False
        self._is_troubled = self._is_full = False

    def record(self, about: About, type_: EventType, reason: str, message: str, *, by: str = "") -> None:
        """`by` is the reporting component if it is not the one of this recorder."""
        now = self._now()
        by = by or self._component
        saying = _Saying(about, type_, reason[:_LONGEST_REASON], message[:_LONGEST_MESSAGE], by)
        waiting = self._waiting.get(saying)
        if waiting is not None:
            waiting.count += 1
            waiting.last = now
        elif self._admits(saying):
            self._waiting[saying] = _Waiting(1, now, now)
            self._waiting_bytes += saying.size
            self._waiting_each[about] += 1
            self._wake.set()
        else:
            self.dropped += 1

    def _admits(self, saying: _Saying) -> bool:
        if self._waiting_each[saying.about] >= MOST_WAITING_EACH:
            return False
        if self._waiting_bytes + saying.size <= self._most_waiting_bytes:
            return True
        if not self._is_full:
            # Once until the Events that wait are written.
            log.warning("dropping events: the server accepts them too slowly", extra={"waiting": len(self._waiting)})
        self._is_full = True
        return False

    async def run(self) -> None:
        """Writes until it is cancelled, or until it is closed and nothing waits."""
        while not self._is_closing:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    def close(self) -> None:
        """Events that are recorded later are not written."""
        self._is_closing = True
        self._wake.set()

    async def flush(self) -> None:
        """Writes all waiting events; not while `run` runs."""
        while self._waiting:
            batch = [self._next() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            # An event that is recorded again meanwhile waits for the next batch, and is counted there.
            async with asyncio.TaskGroup() as tasks:
                for saying, waiting in batch:
                    tasks.create_task(self._try_write(saying, waiting))
        self._is_full = False

    def _next(self) -> tuple[_Saying, _Waiting]:
        saying, waiting = self._waiting.popitem(last=False)
        self._waiting_bytes -= saying.size
        self._waiting_each[saying.about] -= 1
        if not self._waiting_each[saying.about]:
            del self._waiting_each[saying.about]
        return saying, waiting

    async def _try_write(self, saying: _Saying, waiting: _Waiting) -> None:
        try:
            async with asyncio.timeout(10):
                await self._write(saying, waiting)
        except (ApiError, UnreachableError, TimeoutError) as error:
            self.failed += 1
            if not self._is_troubled:
                fields = {"about": " ".join(saying.about[1:4]), "event": saying.reason, "reason": repr(error)}
                log.warning("failed to record event", extra=fields)
            self._is_troubled = True
        else:
            self._is_troubled = False

    async def _write(self, saying: _Saying, waiting: _Waiting) -> None:
        now = self._loop.time()
        series = self._series.get(saying)
        if series is not None and now - series.recorded_at > self._same_within_s:
            del self._series[saying]
            series = None
        if series is not None:
            series.count += waiting.count
            series.recorded_at = now
        if self._ration.admit(saying.about, now) > 0:
            self.dropped += series is None
        elif series is None or not await self._repeat(saying, series, waiting):
            await self._create(saying, waiting)

    async def _repeat(self, saying: _Saying, series: _Series, waiting: _Waiting) -> bool:
        """False if the Event has expired meanwhile."""
        path = _KIND.path(saying.about.namespace or "default", series.name)
        try:
            await self._client.merge(path, {"count": series.count, "lastTimestamp": format_time(waiting.last)})
        except NotFoundError:
            return False
        self._series.move_to_end(saying)
        self.written += 1
        return True

    async def _create(self, saying: _Saying, waiting: _Waiting) -> None:
        event = self._event(saying, waiting)
        await self._client.fetch("POST", _KIND.path(event["metadata"]["namespace"]), body=event)
        self._series[saying] = _Series(event["metadata"]["name"], waiting.count, self._loop.time())
        self._series.move_to_end(saying)
        if len(self._series) > _MOST_SERIES:
            self._series.popitem(last=False)
        self.written += 1

    def _event(self, saying: _Saying, waiting: _Waiting) -> JsonObject:
        about = saying.about
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": _name(about.name, self._suffix()), "namespace": about.namespace or "default"},
            "involvedObject": about.reference(),
            "type": saying.type,
            "reason": saying.reason,
            "message": saying.message,
            "count": waiting.count,
            "firstTimestamp": format_time(waiting.first),
            "lastTimestamp": format_time(waiting.last),
            "source": {"component": saying.by},
            "reportingComponent": saying.by,
            "reportingInstance": self._instance,
        }


def _name(name: str, suffix: str) -> str:
    """The object's name and a unique suffix. Characters that an Event name cannot have, as in `system:node`, are
    replaced.
    """
    parts = (_unnameable("-", part).strip("-") for part in name.lower().split("."))
    stem = ".".join(filter(None, parts))[:_LONGEST_NAME].rstrip(".-")
    return f"{stem}.{suffix}" if stem else suffix
