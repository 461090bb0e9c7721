"""Representations of objects: the object at the kind's version, its metadata only, or a table row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from homeostat.edge.stream import frame
from homeostat.objects.json import encode
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.call import Call
from homeostat.server.view.encode import list_parts, object_bytes, partial_bytes
from homeostat.store.base import Event, Record

_MARK = b'"metadata":{"resourceVersion":"'
_MANY_DECODED = 1_000
_MANY_CUT = 10_000


class View(Protocol):
    """One representation of one kind. Views with the same `share_key` produce the same bytes."""

    @property
    def share_key(self) -> object: ...

    def item(self, record: Record) -> bytes:
        """One object as a document of its own."""

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes: ...

    def takes_long(self, records: Sequence[Record]) -> bool:
        """Whether a list of these records would block the event loop for too long."""

    def list_parts(
        self, records: Sequence[Record], *, revision: int, continue_token: str = "", remaining: int = 0
    ) -> list[bytes]: ...


def event_line(view: View, change: str, record: Record) -> bytes:
    """One watch event, newline included."""
    return b'{"type":"%s","object":%s}\n' % (change.encode(), view.item(record))


def shared_frame(view: View, event: Event) -> bytes:
    """An event as a chunk, encoded once for all readers of the same view."""
    frames = event.frames
    if frames is None:
        frames = event.frames = {}
    found = frames.get(view.share_key)
    if found is None:
        found = frames[view.share_key] = frame(event_line(view, event.type, event.record))
    return found


def bookmark_line(view: View, revision: int, *, is_initial_end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if is_initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return b'{"type":"BOOKMARK","object":%s}\n' % view.bookmark_object(metadata)


def with_revision(record: Record, revision: int) -> Record:
    """The record at another revision: what a watch shows of an object that left its selection."""
    start = record.value.index(_MARK) + len(_MARK)
    end = record.value.index(b'"', start)
    value = b"%s%d%s" % (record.value[:start], revision, record.value[end:])
    return Record(record.key, value, revision, record.created)


class ObjectView:
    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.share_key = kind.api_version

    def item(self, record: Record) -> bytes:
        return object_bytes(self._kind, record)

    def takes_long(self, records: Sequence[Record]) -> bool:
        return self._kind.from_storage is not None and len(records) > _MANY_DECODED

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return encode({"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": metadata})

    def list_parts(
        self, records: Sequence[Record], *, revision: int, continue_token: str = "", remaining: int = 0
    ) -> list[bytes]:
        kind = self._kind
        head = kind.head
        if kind.from_storage is None:
            items = [
                record.value if record.value.startswith(head) else object_bytes(kind, record) for record in records
            ]
        else:
            items = [object_bytes(kind, record) for record in records]
        return list_parts(
            kind.list_kind,
            kind.api_version,
            items,
            revision=revision,
            continue_token=continue_token,
            remaining=remaining,
        )


class PartialView:
    share_key = "partial"

    def item(self, record: Record) -> bytes:
        return partial_bytes(record)

    def takes_long(self, records: Sequence[Record]) -> bool:
        return len(records) > _MANY_CUT

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return encode({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})

    def list_parts(
        self, records: Sequence[Record], *, revision: int, continue_token: str = "", remaining: int = 0
    ) -> list[bytes]:
        return list_parts(
            "PartialObjectMetadataList",
            "meta.k8s.io/v1",
            [partial_bytes(record) for record in records],
            revision=revision,
            continue_token=continue_token,
            remaining=remaining,
        )


def view_of(call: Call) -> View:
    match call.representation.form:
        case "partial":
            return PartialView()
        case "table":
            from homeostat.server.view.table_view import TableView

            return TableView(call)
        case _:
            return ObjectView(call.kind)
