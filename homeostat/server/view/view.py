"""Representations of objects: the object at the kind's version, its metadata only, or a table row."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Protocol

from homeostat.edge.items import Items
from homeostat.edge.stream import frame
from homeostat.objects.json import JsonObject, encode
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.call import Call
from homeostat.server.view.encode import (
    LIST_TAIL,
    item_bytes,
    list_head,
    metadata_bytes,
    object_bytes,
    partial_bytes,
    stored_items,
)
from homeostat.server.view.json_lines import JsonLines
from homeostat.store.base import Event, Record

_MARK = b'"metadata":{"resourceVersion":"'
_MANY_DECODED = 1_000
_MANY_DECODED_BYTES = 128 * 1024
_MANY_CUT = 10_000


class View(Protocol):
    """One representation of one kind. Views with the same `share_key` produce the same bytes."""

    @property
    def share_key(self) -> object: ...
    @property
    def later(self) -> View:
        """The view of a watch's events after the first."""
        ...

    def item(self, record: Record) -> bytes:
        """One object as a document of its own."""

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes: ...

    def document(self, obj: JsonObject) -> bytes:
        """A small object that is not stored, such as a Status."""

    def event_parts(self, change: str, document: bytes) -> tuple[bytes, ...]:
        """One event of a watch in parts, so that the document is not copied."""

    def takes_long(self, records: Sequence[Record]) -> bool:
        """Whether a list of these records would block the event loop for too long."""

    @property
    def quick_bytes(self) -> float:
        """The events of stored objects of this size together are encoded in some milliseconds."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether the items of a list are the store's own bytes, so that a list takes no memory."""
        ...

    def listed(self, records: Sequence[Record], metadata: JsonObject) -> Items:
        """A whole list."""

    def list_head(self, metadata: JsonObject) -> bytes:
        """A list up to its first item; `LIST_TAIL` follows the last."""

    def list_items(self, records: Sequence[Record]) -> list[bytes]: ...

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        """Items with commas between them, after a head and before a tail."""


def event_of(view: View, change: str, record: Record) -> bytes:
    """One event of a watch."""
    return b"".join(view.event_parts(change, view.item(record)))


def added_events(view: View, records: Sequence[Record]) -> list[bytes]:
    """Initial events in parts, of which the objects are not copied."""
    parts: list[bytes] = []
    for record in records:
        parts += view.event_parts("ADDED", view.item(record))
        view = view.later
    return parts


def own_frame(view: View, event: Event) -> bytes:
    """An event as a chunk."""
    return frame(event_of(view, event.type, event.record))


def shared_frame(view: View, event: Event) -> bytes:
    """An event as a chunk, encoded once for all readers of the same view."""
    frames = event.frames
    if frames is None:
        frames = event.frames = {}
    found = frames.get(view.share_key)
    if found is None:
        found = frames[view.share_key] = own_frame(view, event)
    return found


def bookmark_of(view: View, revision: int, *, is_initial_end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if is_initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return b"".join(view.event_parts("BOOKMARK", view.bookmark_object(metadata)))


def with_revision(record: Record, revision: int) -> Record:
    """The record at another revision: what a watch shows of an object that left its selection."""
    start = record.value.index(_MARK) + len(_MARK)
    end = record.value.index(b'"', start)
    value = b"%s%d%s" % (record.value[:start], revision, record.value[end:])
    return Record(record.key, value, revision, record.created)


class ObjectView(JsonLines):
    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.share_key = kind.api_version

    @property
    def later(self) -> ObjectView:
        return self

    def item(self, record: Record) -> bytes:
        return object_bytes(self._kind, record)

    def takes_long(self, records: Sequence[Record]) -> bool:
        if self.is_shared:
            return False
        return len(records) > _MANY_DECODED or sum([len(each.value) for each in records]) > _MANY_DECODED_BYTES

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return encode({"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": metadata})

    @property
    def quick_bytes(self) -> float:
        return inf if self.is_shared else _MANY_DECODED_BYTES

    @property
    def is_shared(self) -> bool:
        return self._kind.is_verbatim

    def listed(self, records: Sequence[Record], metadata: JsonObject) -> Items:
        return self.joined_items(self.list_head(metadata), records, LIST_TAIL)

    def list_head(self, metadata: JsonObject) -> bytes:
        return list_head(self._kind.list_kind, self._kind.api_version, metadata)

    def list_items(self, records: Sequence[Record]) -> list[bytes]:
        return [item_bytes(self._kind, record) for record in records]

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        if self.is_shared:
            return stored_items(head, self._kind, records, tail)
        return Items(head, self.list_items(records), tail)


class PartialView(JsonLines):
    is_shared = False
    quick_bytes = inf

    def __init__(self, version: str, *, has_bare_items: bool = False) -> None:
        self._version = version
        self._has_bare_items = has_bare_items
        self.share_key = ("partial", version)

    @property
    def _api_version(self) -> str:
        return f"meta.k8s.io/{self._version}"

    @property
    def later(self) -> PartialView:
        return self

    def item(self, record: Record) -> bytes:
        return partial_bytes(record, self._version)

    def takes_long(self, records: Sequence[Record]) -> bool:
        return len(records) > _MANY_CUT

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return encode({"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": metadata})

    def listed(self, records: Sequence[Record], metadata: JsonObject) -> Items:
        head = self.list_head(metadata)
        if not records:
            return Items(head.removesuffix(b"["), (), b"null}")
        return self.joined_items(head, records, LIST_TAIL)

    def list_head(self, metadata: JsonObject) -> bytes:
        return list_head("PartialObjectMetadataList", self._api_version, metadata)

    def list_items(self, records: Sequence[Record]) -> list[bytes]:
        if self._has_bare_items:
            return [b'{"metadata":%b}' % metadata_bytes(record) for record in records]
        return [partial_bytes(record, self._version) for record in records]

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        return Items(head, self.list_items(records), tail)


def view_of(call: Call) -> View:
    representation = call.representation
    if representation.encoding == "protobuf":
        from homeostat.server.view.protobuf_view import ProtobufView

        return ProtobufView(call.kind, is_partial=representation.form == "partial")
    match representation.form:
        case "partial":
            return PartialView(representation.version, has_bare_items=representation.has_bare_items)
        case "table":
            from homeostat.server.view.table_view import TableView

            return TableView(call)
        case _:
            return ObjectView(call.kind)
