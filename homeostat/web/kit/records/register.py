"""Records: objects of a custom kind that callers of an HTTP API know by a number.

    roles = Register(client, informers, REST_ROLE, Role, namespace="default")
    role = await roles.add("role-1", RestRoleSpec(name="viewers"), number=1)
    await roles.edit(role, lambda spec: replace(spec, description="read only"))

Reads are served from a cache. Promises, each tested: the next read of this process sees a write that returned; an edit
overwrites no concurrent change; a record that was created without a number, or with the number of an older record, is
assigned one.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, Generic, Never, TypeVar

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.watch.source import Source
from homeostat.web.kit.acting import acting_client
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.records.ids import ID, Ids, number_in
from homeostat.web.kit.refusal import RefusalError

log = logging.getLogger(__name__)

_SEEN_WITHIN_S: Final = 5.0
_AGAIN_AFTER_S: Final = 1.0
_TRIES: Final = 5
_NUMBER: Final = "number"


class ManagedFieldsEntry(msgspec.Struct, frozen=True, gc=False):
    """When one of the object's field managers last wrote it."""

    time: str = ""
    subresource: str = ""


class RecordMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()


class Record(msgspec.Struct, frozen=True, kw_only=True):
    metadata: RecordMetadata
    spec: Any

    @property
    def number(self) -> int:
        """0 until one is assigned."""
        return number_in(self.metadata.labels.get(ID, ""))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def created(self) -> str:
        return self.metadata.creation_timestamp

    @property
    def updated(self) -> str:
        """When somebody last wrote the object, status writes excluded."""
        times = [each.time for each in self.metadata.managed_fields if not each.subresource]
        return max(times, default="") or self.created

    @property
    def age(self) -> tuple[str, str]:
        return self.metadata.creation_timestamp, self.metadata.uid


R = TypeVar("R", bound=Record)


class Register(Generic[R]):
    """`numbering` is a background task: it runs as long as the register is used."""

    def __init__(
        self, client: Client, informers: Informers, kind: CustomKind, shape: type[R], *, namespace: str
    ) -> None:
        self.series, self._namespace, self._kind = kind.kind.plural, namespace, kind.kind
        self._ids = Ids(client, namespace=namespace, floor=lambda _: self.highest)
        self._client, self._shape = client, shape
        self._objects = Projection(client, kind.kind, shape)
        self._informer = informers.get(
            Source(kind.kind.path(namespace)), shape, {_NUMBER: lambda each: (each.number,) if each.number else ()}
        )
        self._unnumbered: set[str] = set()
        self._deleting: dict[str, asyncio.Event] = {}
        self._has_unnumbered = asyncio.Event()
        self._informer.add_handler(self._on_change)

    def __iter__(self) -> Iterator[R]:
        """Ordered by number, without those that have none yet."""
        return iter(sorted((each for each in self._informer.cache if each.number), key=lambda each: each.number))

    def acting(self, caller: Caller) -> Register[R]:
        """The same records, written on behalf of the caller."""
        client = acting_client(caller, self._client)
        if client is self._client:
            return self
        acting = copy.copy(self)
        acting._objects = Projection(client, self._kind, self._shape)
        return acting

    def add_handler(self, handler: Callable[[Change[R]], None]) -> None:
        """Called for each change of a record."""
        self._informer.add_handler(handler)

    def all(self) -> list[R]:
        """All records, those without a number included."""
        return list(self._informer.cache)

    async def ready(self) -> None:
        """Waits until the cache is synced; `RefusalError` 503 if that takes too long."""
        if not self._informer.cache.is_synced:
            try:
                async with asyncio.timeout(_SEEN_WITHIN_S):
                    await self._informer.synced()
            except TimeoutError as error:
                raise RefusalError(503, f"{self.series} are not loaded yet; try again in a few seconds") from error

    def find(self, number: int) -> R | None:
        found = self._informer.cache.indexed(_NUMBER, number)
        return min(found, key=lambda each: each.age) if found else None

    def named(self, name: str) -> R | None:
        """`UnreadableError` if the object does not match the expected schema."""
        return self._informer.cache.get(self._namespace, name)

    @property
    def highest(self) -> int:
        return max((each.number for each in self._informer.cache), default=0)

    async def fresh(self) -> list[R]:
        """Listed from the server, so writes of other processes are included."""
        return [each async for each in self._objects.list(Selection(self._namespace))]

    async def take_number(self) -> int:
        return await self._ids.take(self.series)

    async def add(self, name: str, spec: msgspec.Struct, *, number: int) -> R:
        """`AlreadyExistsError` if the name is taken."""
        body: JsonObject = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": name, "labels": {ID: str(number)}},
            "spec": msgspec.to_builtins(spec),
        }
        return await self._await_cached(await self._objects.create(body, self._namespace))

    async def edit(self, record: R, change: Callable[[Any], Any]) -> R:
        """`change` gets the newest spec, again after a conflict; `NotFoundError` if the record is gone."""

        def changed(each: R) -> R:
            return msgspec.structs.replace(each, spec=change(each.spec))

        return await self._retried(lambda: self._objects.edit(record.name, self._namespace, change=changed))

    async def observe(self, record: R, status: JsonObject) -> None:
        """Patches the status; does nothing if the record is gone."""
        with contextlib.suppress(NotFoundError):
            patch: JsonObject = {"status": status}
            await self._await_cached(
                await self._objects.patch(patch, record.name, self._namespace, subresource="status")
            )

    async def remove(self, record: R) -> None:
        gone = self._deleting.setdefault(record.metadata.uid, asyncio.Event())
        try:
            with contextlib.suppress(NotFoundError):
                await self._objects.delete(record.name, self._namespace, uid=record.metadata.uid)
            found = self._informer.cache.readable(self._namespace, record.name)
            if found is not None and found.metadata.uid == record.metadata.uid:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_SEEN_WITHIN_S):
                        await gone.wait()
        finally:
            self._deleting.pop(record.metadata.uid, None)

    async def numbering(self) -> Never:
        while True:
            await self._has_unnumbered.wait()
            self._has_unnumbered.clear()
            for name in list(self._unnumbered):
                try:
                    await self._number(name)
                except (ApiError, UnreachableError) as error:
                    log.warning("failed to assign number to object", extra={"kind": self.series, "reason": str(error)})
                    await asyncio.sleep(_AGAIN_AFTER_S)
                    self._has_unnumbered.set()

    async def _number(self, name: str) -> None:
        # An unreadable object is reported as added once it becomes readable.
        found = self._informer.cache.readable(self._namespace, name)
        if found is not None and self._needs_number(found):
            metadata = {"labels": {ID: str(await self.take_number())}, "uid": found.metadata.uid}
            version = found.metadata.resource_version
            patch: JsonObject = {"metadata": {**metadata, "resourceVersion": version}}
            with contextlib.suppress(ConflictError, NotFoundError):
                # Somebody else wrote it, perhaps a number: the watch delivers the result.
                await self._await_cached(await self._objects.patch(patch, name, self._namespace))
        self._unnumbered.discard(name)

    def _on_change(self, change: Change[R]) -> None:
        if change.new is None:
            if change.old is not None and (gone := self._deleting.get(change.old.metadata.uid)):
                gone.set()
        elif self._needs_number(change.new):
            self._unnumbered.add(change.name)
            self._has_unnumbered.set()

    def _needs_number(self, record: R) -> bool:
        first = self.find(record.number) if record.number else None
        return first is None or (first.name != record.name and first.age < record.age)

    async def _retried(self, write: Callable[[], Awaitable[R]]) -> R:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(ConflictError):
                return await self._await_cached(await write())
        return await self._await_cached(await write())

    async def _await_cached(self, record: R) -> R:
        cache = self._informer.cache
        cache.wrote(self._namespace, record.name, int(record.metadata.resource_version))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SEEN_WITHIN_S):
                await cache.await_version(self._namespace, record.name)
        return record
