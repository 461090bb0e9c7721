"""Decodes pages of a list and lines of a watch, straight into the fields that an operator declares.

A projection is a struct with those fields, and with `metadata` that has name, namespace and resourceVersion. The
decoder skips all other fields, so they cost no memory. Promises, each tested:

- an object that does not match the projection is reported by name; the others around it are decoded
- bytes that are not a page or an event raise a `GarbledError`, whatever is wrong with them
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.runtime.cache.index import Name
from homeostat.runtime.cache.sharing import Sharing


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class Projected(Protocol):
    @property
    def metadata(self) -> _Named: ...


V = TypeVar("V", bound=Projected)
T = TypeVar("T")
_INITIAL_END = "k8s.io/initial-events-end"
_LONGEST_REASON = 500


class GarbledError(Exception):
    """The bytes are not what the Kubernetes API sends."""


class Added(msgspec.Struct, Generic[T], tag_field="type", tag="ADDED", frozen=True, gc=False):
    object: T


class Modified(msgspec.Struct, Generic[T], tag_field="type", tag="MODIFIED", frozen=True, gc=False):
    object: T


class Deleted(msgspec.Struct, Generic[T], tag_field="type", tag="DELETED", frozen=True, gc=False):
    object: T


class _MarkMetadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    resource_version: str
    annotations: dict[str, str] | None = None


class _Mark(msgspec.Struct, frozen=True, gc=False):
    metadata: _MarkMetadata


class Bookmark(msgspec.Struct, tag_field="type", tag="BOOKMARK", frozen=True, gc=False):
    object: _Mark

    @property
    def version(self) -> int:
        return _number(self.object.metadata.resource_version)

    @property
    def ends_initial_events(self) -> bool:
        return (self.object.metadata.annotations or {}).get(_INITIAL_END) == "true"


class Refused(msgspec.Struct, tag_field="type", tag="ERROR", frozen=True):
    """The server ends the watch; a `Status` has the reason."""

    object: JsonObject


class UnreadableObject(msgspec.Struct, frozen=True):
    """An object that does not match the projection."""

    namespace: str
    name: str
    version: int
    reason: str
    is_gone: bool = False
    """It was deleted; this is its last state."""


Event = Added[V] | Modified[V] | Deleted[V] | Bookmark | Refused | UnreadableObject


class Page(msgspec.Struct, Generic[T], frozen=True):
    """`token` requests the next page; it is empty on the last one."""

    objects: list[T]
    unreadable: list[UnreadableObject]
    token: str
    version: int


class _BareMetadata(msgspec.Struct, rename="camel", frozen=True):
    name: str
    resource_version: str
    namespace: str = ""


class _Bare(msgspec.Struct, frozen=True):
    metadata: _BareMetadata


class _BareEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _ListMetadata(msgspec.Struct, rename={"token": "continue", "version": "resourceVersion"}, frozen=True):
    version: str
    token: str = ""


class _List(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMetadata
    # An empty list of a Go server may be null.
    items: list[T] | None = None


_bare = msgspec.json.Decoder(_Bare)
_bare_event = msgspec.json.Decoder(_BareEvent)
_raw_list = msgspec.json.Decoder(_List[msgspec.Raw])


class _Decoders(NamedTuple):
    object: msgspec.json.Decoder[Any]
    list: msgspec.json.Decoder[_List[Any]]
    event: msgspec.json.Decoder[Event[Any]]


@lru_cache(64)
def _decoders(shape: Any) -> _Decoders:
    """They take a millisecond to create, and one struct serves many watches: all sleeping operators use the same."""
    kinds: Any = Added[shape] | Modified[shape] | Deleted[shape] | Bookmark | Refused
    return _Decoders(msgspec.json.Decoder(shape), msgspec.json.Decoder(_List[shape]), msgspec.json.Decoder(kinds))


class Projection(Generic[V]):
    """Decodes objects of one struct; created once per watch."""

    def __init__(self, struct: type[V]) -> None:
        self._encoded = _encoded_fields(struct)
        self._sharing = Sharing(struct)
        self._object: msgspec.json.Decoder[V]
        self._list: msgspec.json.Decoder[_List[V]]
        self._event: msgspec.json.Decoder[Event[V]]
        self._object, self._list, self._event = _decoders(struct)

    def object(self, body: bytes) -> V:
        """Decodes a single object; `GarbledError` also if it does not match."""
        try:
            return self._object.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise GarbledError(f"the object cannot be read: {error}") from error

    def page(self, body: bytes) -> Page[V]:
        try:
            try:
                listed = self._list.decode(body)
                metadata = listed.metadata
                page: Page[V] = Page(listed.items or [], [], metadata.token, int(metadata.version))
            except msgspec.ValidationError:
                page = self._page_of_some(body)
            for obj in page.objects:
                self._slim(obj)
            return page
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise GarbledError(f"the list cannot be read: {error}") from error

    def event(self, line: bytes) -> Event[V]:
        try:
            try:
                event = self._event.decode(line)
            except msgspec.ValidationError as error:
                return self._unreadable_event(_bare_event.decode(line), error)
            if isinstance(event, Added | Modified):
                self._slim(event.object)
            return event
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise GarbledError(f"the event cannot be read: {error}") from error

    def _unreadable_event(self, event: _BareEvent, error: Exception) -> UnreadableObject:
        try:
            self._object.decode(event.object)
        except msgspec.ValidationError as own:
            # The same text as for an object in a list.
            error = own
        return _unreadable_object(_bare.decode(event.object), error, is_gone=event.type == "DELETED")

    def _slim(self, obj: V) -> None:
        """Reduces the memory that a cached object takes."""
        for field in self._encoded:
            _detach(obj, field)
        self._sharing.share(obj)

    def _page_of_some(self, body: bytes) -> Page[V]:
        listed = _raw_list.decode(body)
        page: Page[V] = Page([], [], listed.metadata.token, int(listed.metadata.version))
        for raw in listed.items or ():
            try:
                page.objects.append(self._object.decode(raw))
            except msgspec.ValidationError as error:
                page.unreadable.append(_unreadable_object(_bare.decode(raw), error))
        return page


@lru_cache(64)
def _encoded_fields(shape: Any) -> tuple[str, ...]:
    return tuple(each.name for each in msgspec.structs.fields(shape) if each.type is msgspec.Raw)


def _detach(obj: Any, field: str) -> None:
    """Copies a field that stays encoded: it is a slice of the response, and would keep all of that in memory."""
    if encoded := getattr(obj, field):
        msgspec.structs.force_setattr(obj, field, encoded.copy())


def name_of(obj: Projected) -> Name:
    return obj.metadata.namespace, obj.metadata.name


def version_of(obj: Projected) -> int:
    """`GarbledError` if the version is not a number."""
    return _number(obj.metadata.resource_version)


def _number(version: str) -> int:
    try:
        return int(version)
    except ValueError as error:
        raise GarbledError(f'the resourceVersion "{version}" is not a number') from error


def _unreadable_object(bare: _Bare, error: Exception, *, is_gone: bool = False) -> UnreadableObject:
    metadata = bare.metadata
    # It is kept as long as the object is unreadable, and many objects have the same reason.
    reason = sys.intern(str(error)[:_LONGEST_REASON])
    return UnreadableObject(metadata.namespace, metadata.name, int(metadata.resource_version), reason, is_gone)
