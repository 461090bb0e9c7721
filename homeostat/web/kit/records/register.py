"""Records of the REST API, each an object of a custom kind that its callers know by a number.

    roles = Register(client, informers, REST_ROLE, Role, namespace="default")
    role = await roles.add("role-1", RestRoleSpec(name="viewers"), number=1)
    await roles.edit(role, lambda spec: replace(spec, description="may look"))

Reads come from memory. Promises, each tested: a write that returned is seen by the next read of this process; an edit
loses nothing that somebody else wrote meanwhile; what came without a number, or with one that an older record has, is
given one.
"""

from __future__ import annotations

import asyncio
import contextlib
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
from homeostat.web.kit.records.ids import ID, Ids, number_in
from homeostat.web.kit.refusal import RefusalError

log = logging.getLogger(__name__)

_SEEN_WITHIN_S: Final = 5.0
_AGAIN_AFTER_S: Final = 1.0
_TRIES: Final = 5
_NUMBER: Final = "number"


class Written(msgspec.Struct, frozen=True, gc=False):
    """When one of those who write the object last did."""

    time: str = ""
    subresource: str = ""


class RecordMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    managed_fields: tuple[Written, ...] = ()


class Record(msgspec.Struct, frozen=True, kw_only=True):
    metadata: RecordMetadata
    spec: Any

    @property
    def number(self) -> int:
        """0 until one is given."""
        return number_in(self.metadata.labels.get(ID, ""))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def created(self) -> str:
        return self.metadata.creation_timestamp

    @property
    def updated(self) -> str:
        """When somebody last wrote what is declared; what was seen of it does not count."""
        times = [each.time for each in self.metadata.managed_fields if not each.subresource]
        return max(times, default="") or self.created

    @property
    def age(self) -> tuple[str, str]:
        return self.metadata.creation_timestamp, self.metadata.uid


R = TypeVar("R", bound=Record)


class Register(Generic[R]):
    """`numbering` is a job: it runs as long as the register is used."""

    def __init__(
        self, client: Client, informers: Informers, kind: CustomKind, shape: type[R], *, namespace: str
    ) -> None:
        self.series, self._namespace, self._kind = kind.kind.plural, namespace, kind.kind
        self._ids = Ids(client, namespace=namespace, floor=lambda _: self.highest)
        self._objects = Projection(client, kind.kind, shape)
        self._informer = informers.get(
            Source(kind.kind.path(namespace)), shape, {_NUMBER: lambda each: (each.number,) if each.number else ()}
        )
        self._unnumbered: set[str] = set()
        self._leaving: dict[str, asyncio.Event] = {}
        self._is_wanted = asyncio.Event()
        self._informer.add_handler(self._note)

    def __iter__(self) -> Iterator[R]:
        """By their numbers; those that have none yet are not shown."""
        return iter(sorted((each for each in self._informer.cache if each.number), key=lambda each: each.number))

    def all(self) -> list[R]:
        """Also those that have no number yet."""
        return list(self._informer.cache)

    async def ready(self) -> None:
        """Returns when all that there is can be found; `RefusalError` 503 where that takes too long."""
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
        """`UnreadableError` where there is one that does not fit."""
        return self._informer.cache.get(self._namespace, name)

    @property
    def highest(self) -> int:
        return max((each.number for each in self._informer.cache), default=0)

    async def fresh(self) -> list[R]:
        """As the server has them now, from whatever process."""
        return [each async for each in self._objects.list(Selection(self._namespace))]

    async def take_number(self) -> int:
        return await self._ids.take(self.series)

    async def add(self, name: str, spec: msgspec.Struct, *, number: int) -> R:
        """`AlreadyExistsError` where there is one of the name."""
        body: JsonObject = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": {"name": name, "labels": {ID: str(number)}},
            "spec": msgspec.to_builtins(spec),
        }
        return await self._seen(await self._objects.create(body, self._namespace))

    async def edit(self, record: R, change: Callable[[Any], Any]) -> R:
        """`change` gets the newest spec and may be asked again; `NotFoundError` where the record is gone."""

        def changed(each: R) -> R:
            return msgspec.structs.replace(each, spec=change(each.spec))

        return await self._again(lambda: self._objects.edit(record.name, self._namespace, change=changed))

    async def observe(self, record: R, status: JsonObject) -> None:
        """Writes into the status; a record that is gone has none."""
        with contextlib.suppress(NotFoundError):
            patch: JsonObject = {"status": status}
            await self._seen(await self._objects.patch(patch, record.name, self._namespace, subresource="status"))

    async def remove(self, record: R) -> None:
        gone = self._leaving.setdefault(record.metadata.uid, asyncio.Event())
        try:
            with contextlib.suppress(NotFoundError):
                await self._objects.delete(record.name, self._namespace, uid=record.metadata.uid)
            found = self._informer.cache.readable(self._namespace, record.name)
            if found is not None and found.metadata.uid == record.metadata.uid:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_SEEN_WITHIN_S):
                        await gone.wait()
        finally:
            self._leaving.pop(record.metadata.uid, None)

    async def numbering(self) -> Never:
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            for name in list(self._unnumbered):
                try:
                    await self._number(name)
                except (ApiError, UnreachableError) as error:
                    log.warning("failed to assign number to object", extra={"kind": self.series, "reason": str(error)})
                    await asyncio.sleep(_AGAIN_AFTER_S)
                    self._is_wanted.set()

    async def _number(self, name: str) -> None:
        # What cannot be read is told of as one that came, when it can be.
        found = self._informer.cache.readable(self._namespace, name)
        if found is not None and self._needs_number(found):
            metadata = {"labels": {ID: str(await self.take_number())}, "uid": found.metadata.uid}
            version = found.metadata.resource_version
            patch: JsonObject = {"metadata": {**metadata, "resourceVersion": version}}
            with contextlib.suppress(ConflictError, NotFoundError):
                # Somebody else wrote it, perhaps a number: what became of it is told.
                await self._seen(await self._objects.patch(patch, name, self._namespace))
        self._unnumbered.discard(name)

    def _note(self, change: Change[R]) -> None:
        if change.new is None:
            if change.old is not None and (gone := self._leaving.get(change.old.metadata.uid)):
                gone.set()
        elif self._needs_number(change.new):
            self._unnumbered.add(change.name)
            self._is_wanted.set()

    def _needs_number(self, record: R) -> bool:
        first = self.find(record.number) if record.number else None
        return first is None or (first.name != record.name and first.age < record.age)

    async def _again(self, write: Callable[[], Awaitable[R]]) -> R:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(ConflictError):
                return await self._seen(await write())
        return await self._seen(await write())

    async def _seen(self, record: R) -> R:
        cache = self._informer.cache
        cache.wrote(self._namespace, record.name, int(record.metadata.resource_version))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SEEN_WITHIN_S):
                await cache.await_version(self._namespace, record.name)
        return record
