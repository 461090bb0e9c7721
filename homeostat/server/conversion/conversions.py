"""Converts stored objects to the version of a request, and written ones to the stored version.

Reads turn stored records into records at the version of their kind (`shown`), so that everything behind them is the
same with and without a conversion. All objects that one request needs go into as few reviews as their size allows. A
webhook that does not answer holds up the requests of its own kind, and no more of them than `MOST_WAITING`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from homeostat.edge.threads import in_thread
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import TooManyRequestsError
from homeostat.objects.json import MAX_CONTAINERS, JsonObject
from homeostat.server.admission.webhooks.client import CallError, WebhookClient, address_of
from homeostat.server.conversion.cache import Cache, Found, Place
from homeostat.server.conversion.conversion import Conversion
from homeostat.server.conversion.review import converted_objects, failed, review_of
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.offload import LARGE_BYTES, is_heavy
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.server.view.encode import bytes_of, draft_of
from homeostat.store.base import Draft, Event, Record, Store

TIMEOUT_S = 30.0
"""As in Kubernetes; a definition cannot set it."""
MOST_REVIEWED = 500
MOST_REVIEWED_BYTES = 1024 * 1024
"""Objects in a review, and the size of them all from which on it takes no more."""
MOST_REVIEWS = 4
"""Reviews of one request at the same time."""
MOST_WAITING = 64
"""Requests that wait for the webhook of one kind; further ones are refused with 429."""
_MOST_EVENTS = 1_000
_LOOKED_UP_AT_ONCE = 10_000
_MANY_CONTAINERS = MAX_CONTAINERS // 4
"""Objects and arrays in a review from which on it takes no more: the answer must be a document within the limits."""
_QUICK_BYTES = 16 * 1024
"""The size of objects that are read and checked on the event loop."""

T = TypeVar("T")


class Conversions:
    def __init__(self, client: WebhookClient, store: Store, new_uid: Callable[[], str]) -> None:
        self._client, self._store, self._new_uid = client, store, new_uid
        self._cache = Cache()
        self._events: OrderedDict[Place, Event] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def shown(self, kind: Kind, records: Sequence[Record], *, is_watch: bool = False) -> Sequence[Record]:
        """The records at the kind's version; `ConversionError`. The number of watches that wait is not limited."""
        conversion = kind.conversion
        if conversion is None or not records:
            return records
        found: list[Found | None] = []
        missing: list[tuple[Place, Record]] = []
        for index, record in enumerate(records, 1):
            if index % _LOOKED_UP_AT_ONCE == 0:
                await asyncio.sleep(0)
            known = self._find(kind, conversion, record)
            if known is None:
                missing.append(((conversion, kind.api_version, record.revision), record))
            found.append(known)
        shown = [each for each in found if isinstance(each, Record)]
        if len(shown) == len(records):
            return shown
        with _Turn(self._waiting, kind, most=0 if is_watch or conversion.endpoint is None else MOST_WAITING):
            promised: Iterator[Found] = self._start(kind, conversion, missing) if missing else iter(())
            awaited = [next(promised) if each is None else each for each in found]
            # Shielded, because others may wait for the same promise.
            return [each if isinstance(each, Record) else await asyncio.shield(each) for each in awaited]

    def known(self, kind: Kind, event: Event) -> Event | None:
        """The event at the kind's version, if its records are converted already."""
        conversion = kind.conversion
        assert conversion is not None
        record = self._find(kind, conversion, event.record)
        previous = None if event.previous is None else self._find(kind, conversion, event.previous)
        if not isinstance(record, Record) or not (previous is event.previous or isinstance(previous, Record)):
            return None
        return self._event(kind, event, record, previous)

    async def events(self, kind: Kind, events: Sequence[Event]) -> list[Event]:
        """The events at the kind's version, of which all watches get the same values."""
        records = [record for event in events for record in (event.record, event.previous) if record is not None]
        shown = iter(await self.shown(kind, records, is_watch=True))
        return [
            self._event(kind, event, next(shown), next(shown) if event.previous is not None else None)
            for event in events
        ]

    def _event(self, kind: Kind, event: Event, record: Record, previous: Record | None) -> Event:
        assert kind.conversion is not None
        place = (kind.conversion, kind.api_version, event.record.revision)
        found = self._events.get(place)
        if found is None:
            found = self._events[place] = Event(event.type, record, previous, tag=event.tag)
            if len(self._events) > _MOST_EVENTS:
                self._events.popitem(last=False)
        return found

    async def draft(self, kind: Kind, obj: JsonObject) -> Draft:
        """The bytes of an object for the store."""
        stored, size = await self._stored(kind, obj)
        return await _computed(partial(draft_of, kind, stored), size, kind.resource)

    async def round_trip(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """The object as it would be read if it were stored."""
        stored, _ = await self._stored(kind, obj)
        return (await self.objects(kind, [stored], kind.api_version))[0]

    async def _stored(self, kind: Kind, obj: JsonObject) -> tuple[JsonObject, int]:
        """And its size, which a webhook chooses."""
        (stored,), size = await self._at(kind, [obj], kind.stored_api_version)
        conversion = kind.conversion
        assert conversion is not None
        if stored is obj:
            return obj, size
        return await _computed(partial(conversion.complete, stored), size, kind.resource), size

    async def objects(self, kind: Kind, objects: Sequence[JsonObject], api_version: str) -> Sequence[JsonObject]:
        """Objects of any versions of the kind at another one; the originals are not changed."""
        found, _ = await self._at(kind, objects, api_version)
        return found

    async def _at(
        self, kind: Kind, objects: Sequence[JsonObject], api_version: str
    ) -> tuple[Sequence[JsonObject], int]:
        """And about how many bytes they have, at least of large ones."""
        conversion = kind.conversion
        at = [index for index, obj in enumerate(objects) if obj["apiVersion"] != api_version]
        size = LARGE_BYTES if any(map(is_heavy, objects)) else 0
        if conversion is None or not at:
            return objects, size
        with _Turn(self._waiting, kind, most=0 if conversion.endpoint is None else MOST_WAITING):
            found = list(objects)
            converted, size = await self._reviewed(conversion, [objects[index] for index in at], size, api_version)
            for index, obj in zip(at, converted, strict=True):
                found[index] = obj
            return found, size

    def _find(self, kind: Kind, conversion: Conversion, record: Record) -> Found | None:
        if conversion.is_verbatim(record, kind.head):
            return record
        return self._cache.find((conversion, kind.api_version, record.revision))

    def _start(self, kind: Kind, conversion: Conversion, missing: list[tuple[Place, Record]]) -> Iterator[Found]:
        """Promises of the records. In a task of its own: whoever asked first may leave before the others."""
        fresh: list[tuple[Place, Record]] = []
        promised: list[Found] = []
        for place, record in missing:
            # A record may be asked for twice: as an event's object, and as the next one's previous.
            found = self._cache.find(place)
            if found is None:
                found = self._cache.expect(place)
                fresh.append((place, record))
            promised.append(found)
        task = asyncio.get_running_loop().create_task(self._convert(kind, conversion, fresh))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return iter(promised)

    async def _convert(self, kind: Kind, conversion: Conversion, missing: list[tuple[Place, Record]]) -> None:
        convert = partial(self._convert_batch, kind, conversion)
        await map_concurrently(convert, _batches(missing), at_once=MOST_REVIEWS)

    async def _convert_batch(self, kind: Kind, conversion: Conversion, batch: list[tuple[Place, Record]]) -> None:
        records = [record for _, record in batch]
        size = sum(len(record.value) for record in records)

        def sources() -> list[JsonObject]:
            return [conversion.source(record) for record in records]

        try:
            objects = await _computed(sources, size, kind.resource)
            found, size = await self._reviewed(conversion, objects, size, kind.api_version)
            values = await _computed(lambda: [bytes_of(kind, obj) for obj in found], size, kind.resource)
            for (place, record), value in zip(batch, values, strict=True):
                self._cache.keep(place, Record(record.key, value, record.revision, record.created))
        except BaseException as error:
            for place, _ in batch:
                self._cache.fail(place, error)
            if not isinstance(error, Exception):
                raise

    async def _reviewed(
        self, conversion: Conversion, objects: Sequence[JsonObject], size: int, api_version: str
    ) -> tuple[Sequence[JsonObject], int]:
        """The objects as the webhook converts them, and their size. Those that need no conversion are not sent."""
        changed = [obj for obj in objects if obj["apiVersion"] != api_version]
        if not changed:
            return objects, size
        endpoint = conversion.endpoint
        if endpoint is None:
            renamed = partial(conversion.rename, objects, api_version)
            return await _computed(renamed, size, conversion.kind), size
        uid, version = self._new_uid(), conversion.review_version
        try:
            async with self._client.post(
                address_of(endpoint, self._store),
                endpoint.authorities,
                partial(review_of, changed, wanted=api_version, version=version, uid=uid),
                timeout_s=TIMEOUT_S,
                large_for=conversion.kind if size >= LARGE_BYTES else "",
            ) as answer:
                read = partial(_read, conversion, answer, changed, wanted=api_version, uid=uid)
                converted = await _computed(read, len(answer), conversion.kind)
                size += len(answer)
        except CallError as error:
            raise failed(changed[0]["apiVersion"], conversion.kind, f"failed: {error}") from error
        return [obj if obj["apiVersion"] == api_version else next(converted) for obj in objects], size


class _Turn:
    """One of the requests that wait for the webhook of a kind."""

    def __init__(self, waiting: Counter[str], kind: Kind, *, most: int) -> None:
        self._waiting, self._resource, self._most = waiting, kind.resource, most

    def __enter__(self) -> None:
        if not self._most:
            return
        if self._waiting[self._resource] >= self._most:
            raise TooManyRequestsError(
                f"{self._most} requests wait for the conversion webhook of {self._resource}; try again later",
                retry_after_s=1,
            )
        self._waiting[self._resource] += 1

    def __exit__(self, *_: object) -> None:
        if not self._most:
            return
        self._waiting[self._resource] -= 1
        if not self._waiting[self._resource]:
            del self._waiting[self._resource]


def _read(
    conversion: Conversion, answer: bytes, originals: Sequence[JsonObject], *, wanted: str, uid: str
) -> Iterator[JsonObject]:
    found = converted_objects(
        answer,
        originals,
        wanted=wanted,
        version=conversion.review_version,
        uid=uid,
        in_pieces=is_offloaded(),
    )
    return iter(conversion.accept(found, wanted))


async def _computed(function: Callable[[], T], size: int, user: str) -> T:
    if size <= _QUICK_BYTES:
        try:
            return function()
        except TooLongError:
            pass
    return await in_thread(function, user=user)


def _batches(missing: list[tuple[Place, Record]]) -> Iterator[list[tuple[Place, Record]]]:
    batch: list[tuple[Place, Record]] = []
    size = containers = 0
    for each in missing:
        batch.append(each)
        value = each[1].value
        size += len(value)
        containers += value.count(b"{") + value.count(b"[")
        if len(batch) >= MOST_REVIEWED or size >= MOST_REVIEWED_BYTES or containers >= _MANY_CONTAINERS:
            yield batch
            batch, size, containers = [], 0, 0
    if batch:
        yield batch
