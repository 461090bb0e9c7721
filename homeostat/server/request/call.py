"""One API request, parsed once, and what the verbs need to handle it.

A `Call` knows no HTTP: both the HTTP server and the in-process client make one. A verb is one short `async def` of a
`Call`. It raises `ApiError` and never returns an error response itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol, TypeVar

import msgspec

from homeostat.edge.reply import Reply, StreamReply
from homeostat.objects.apply.versions import Versions
from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.user import User
from homeostat.server.kinds.registry import Kind, Registry
from homeostat.server.request.negotiate import PLAIN, Representation
from homeostat.server.request.options import NO_OPTIONS, Options
from homeostat.server.request.paths import ObjectPath
from homeostat.store.base import Draft, Event, Key, Put, Record, Scope, Store

T = TypeVar("T")


class Admission(Protocol):
    """Admission control: webhooks and policies. `operation` is CREATE, UPDATE or DELETE."""

    completed: Collection[str]
    """Resources of which `complete` has to see each write."""

    async def complete(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """Set, in place, what the server's own admission plugins set; raise the error that denies the write."""

    def has_quotas(self, namespace: str) -> bool:
        """Whether a write in the namespace may have to be charged."""

    def is_charged(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> bool:
        """Whether this write has to be charged. `new` and `old` are None if absent."""

    async def in_turn(self, namespace: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do it after the other charged writes of the namespace; on the event loop, also for a call in a thread."""

    async def charges(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> tuple[Put, ...]:
        """The ResourceQuotas as this write leaves them; raise the error that denies the write."""

    async def mutate(
        self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str
    ) -> JsonObject | None:
        """The object after mutating webhooks; the same value if none changed it."""

    async def validate(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        """Raise the error that denies the write."""

    def is_idle(self, call: Call, operation: str) -> bool:
        """Whether no webhook or policy matches this call."""


class Conversions(Protocol):
    """Conversion of objects between the versions of a custom kind. `ConversionError` if it fails."""

    async def shown(self, kind: Kind, records: Sequence[Record], *, is_watch: bool = False) -> Sequence[Record]:
        """The records at the kind's version."""

    def known(self, kind: Kind, event: Event) -> Event | None:
        """The event at the kind's version, if its records are converted already."""

    async def events(self, kind: Kind, events: Sequence[Event]) -> list[Event]: ...

    async def draft(self, kind: Kind, obj: JsonObject) -> Draft:
        """The bytes of an object for the store."""

    async def round_trip(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """The object as it would be read if it were stored."""

    async def objects(self, kind: Kind, objects: Sequence[JsonObject], api_version: str) -> Sequence[JsonObject]:
        """The objects at another version of the kind."""


class Allocator(Protocol):
    """Cluster addresses and node ports of Services."""

    async def allocate(self, writer: int, obj: JsonObject, old: JsonObject | None, *, is_trial: bool) -> bool:
        """Complete the spec, in place, and hold what is new for the writer; whether anything is."""

    def still_holds(self, writer: int) -> bool:
        """Whether no other replica has taken what the writer holds."""

    def release(self, writer: int, *, is_certain: bool) -> None:
        """The write has ended. It is uncertain if nobody waited for its commit."""


class OpenWatch(Protocol):
    """An open watch. `run` sends the initial events, `tick` sends bookmarks, `close` ends the stream properly."""

    resource: str

    async def run(self) -> None: ...
    def tick(self, now: float) -> None: ...
    def close(self) -> None: ...


class OpenWatches(Protocol):
    """The watches that are open now."""

    def add(self, watch: OpenWatch) -> None: ...
    def discard(self, watch: OpenWatch) -> None: ...
    def run(self, watch: OpenWatch) -> asyncio.Task[None]: ...


class Backend(msgspec.Struct):
    """What all calls share."""

    store: Store
    registry: Registry
    admission: Admission
    conversions: Conversions
    watches: OpenWatches
    clock: Callable[[], float]
    """Seconds since the epoch."""
    new_uid: Callable[[], str]
    random_suffix: Callable[[], str]
    require: Callable[[Attributes], Awaitable[None]]
    """Raises `ForbiddenError` if the user lacks a permission."""
    authorize: Callable[[Attributes], Decision]
    """Whether a user has a permission."""
    issue_token: Callable[[Call, JsonObject], JsonObject]
    """The answer to a TokenRequest for the call's service account."""
    certify: Callable[[Call, JsonObject], Awaitable[JsonObject]]
    """Signs a CertificateSigningRequest that the call approves."""
    allocator: Allocator
    """Of what the server allocates for Services."""


_SHOWN_BY = ("curl", "Wget", "Mozilla/5.0")


class Call(msgspec.Struct):
    backend: Backend
    kind: Kind
    path: ObjectPath
    user: User
    options: Options = NO_OPTIONS
    body: bytes = b""
    content_type: str = ""
    user_agent: str = ""
    representation: Representation = PLAIN
    accepts_gzip: bool = False
    subresource: str = ""
    is_apply: bool = False
    is_of_collection: bool = False
    """Whether it deletes one object of a collection, whose request had no name."""
    warnings: list[str] = msgspec.field(default_factory=list)
    versions: Versions | None = None
    """The object at the versions of its managers, if the kind has a conversion."""
    annotations: dict[str, str] | None = None
    """What admission control adds to the request in the audit log; None if nothing is logged."""
    _timestamp: str = ""

    @property
    def store(self) -> Store:
        return self.backend.store

    @property
    def namespace(self) -> str:
        return self.path.namespace

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def key(self) -> Key:
        return Key(self.kind.resource, self.path.namespace, self.path.name)

    @property
    def scope(self) -> Scope:
        return Scope(self.kind.resource, self.path.namespace, self.path.name)

    @property
    def manager(self) -> str:
        """The field manager of the written fields: `fieldManager`, or else the program in the User-Agent."""
        return self.options.field_manager or _program(self.user_agent)

    @property
    def is_pretty(self) -> bool:
        """Whether JSON is indented: as `pretty` says, or else for the programs that show it to people."""
        pretty = self.options.pretty
        return self.user_agent.startswith(_SHOWN_BY) if pretty is None else pretty

    def annotate(self, key: str, value: str) -> None:
        """For the audit log. The first value of a key stays."""
        if self.annotations is not None:
            self.annotations.setdefault(key, value)

    def of(self, namespace: str, name: str) -> Call:
        """The same call about one named object."""
        return msgspec.structs.replace(self, path=self.path._replace(namespace=namespace, name=name))

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.backend.clock(), UTC)

    def timestamp(self) -> str:
        """The time of the call: the same value at each use."""
        if not self._timestamp:
            self._timestamp = _printed(int(self.backend.clock()))
        return self._timestamp

    def not_found(self, name: str = "") -> NotFoundError:
        name = name or self.name
        return NotFoundError(
            f'{self.kind.group_resource} "{name}" not found', kind=self.kind.plural, group=self.kind.group, name=name
        )

    def forbidden(self, why: str, name: str = "") -> ForbiddenError:
        name = name or self.name
        return ForbiddenError(
            f'{self.kind.group_resource} "{name}" is forbidden: {why}',
            kind=self.kind.plural,
            group=self.kind.group,
            name=name,
        )

    def record(self) -> Record:
        """The stored record of the call's object; `NotFoundError`."""
        found = self.store.get(self.key)
        if found is None:
            raise self.not_found()
        return found

    async def shown_record(self) -> Record:
        """The stored record at the version of the call's kind."""
        return await self.show(self.record())

    async def show(self, record: Record) -> Record:
        return (await self.show_all([record]))[0]

    async def show_all(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records at the version of the call's kind."""
        if self.kind.conversion is None:
            return records
        return await self.backend.conversions.shown(self.kind, records)

    async def require_create(self) -> None:
        """Check the permission to create, for a write that creates a missing object; `ForbiddenError`."""
        kind = self.kind
        await self.backend.require(
            Attributes(
                self.user,
                "create",
                group=kind.group,
                version=kind.version,
                resource=kind.plural,
                namespace=self.namespace,
                name=self.name,
            )
        )


@lru_cache(maxsize=256)
def _program(user_agent: str) -> str:
    return "".join(char for char in user_agent.partition("/")[0] if char.isprintable())[:128] or "unknown"


@lru_cache(maxsize=4)
def _printed(epoch_s: int) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Answer = Reply | StreamReply
Verb = Callable[[Call], Awaitable[Answer]]
