"""Objects of built-in kinds, and the metadata of any object, in protobuf.

It is for clients that accept nothing else (decision 39): what is stored is JSON, so each object is decoded and encoded
again. A list has its size in front, so its items are encoded before its first byte is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from homeostat.edge.items import Items, pieces_of
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.wire.encode import (
    SEALED_TAIL,
    encode,
    list_item,
    list_metadata,
    message_writer,
    sealed,
    sealed_head,
    watch_event,
)
from homeostat.objects.wire.type_table import kind_named
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.too_long import is_offloaded
from homeostat.server.view.encode import metadata_bytes, object_of
from homeostat.store.base import Record

QUICK_BYTES = 32 * 1024
"""Stored objects of this size together are encoded in some milliseconds."""
_PARTIAL = "meta.v1.PartialObjectMetadata"


def type_of(kind: Kind) -> str | None:
    """The type of a kind's objects in protobuf; None for custom kinds and others that Kubernetes does not define."""
    return None if kind.custom else kind_named(kind.group, kind.version, kind.kind)


class ProtobufView:
    is_shared = False
    quick_bytes = QUICK_BYTES

    def __init__(self, kind: Kind, *, is_partial: bool) -> None:
        self._stored = kind
        self._is_partial = is_partial
        if is_partial:
            self._api_version, self._kind, self._list_kind = (
                "meta.k8s.io/v1",
                "PartialObjectMetadata",
                "PartialObjectMetadataList",
            )
        else:
            self._api_version, self._kind, self._list_kind = kind.api_version, kind.kind, kind.list_kind
        name = _PARTIAL if is_partial else type_of(kind)
        assert name is not None, f"{kind.group_resource} have no protobuf form"
        self._write = message_writer(name)
        self.share_key = ("protobuf", self._api_version)

    @property
    def later(self) -> ProtobufView:
        return self

    def item(self, record: Record) -> bytes:
        return sealed(self._api_version, self._kind, self._message(record))

    def takes_long(self, records: Sequence[Record]) -> bool:
        return sum([len(each.value) for each in records]) > QUICK_BYTES

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return sealed(self._api_version, self._kind, self._write({"metadata": metadata}))

    def document(self, obj: JsonObject) -> bytes:
        return encode(obj)

    def event_parts(self, change: str, document: bytes) -> tuple[bytes, ...]:
        return (watch_event(change, document),)

    def listed(self, records: Sequence[Record], metadata: JsonObject) -> Items:
        items = self.list_items(records)
        head = self.list_head(metadata, sum(map(len, items)))
        return Items(head, items, SEALED_TAIL, separator=b"")

    def list_head(self, metadata: JsonObject, size: int = 0) -> bytes:
        """A list up to its first item; its items have `size` bytes together."""
        own = list_metadata(metadata)
        return sealed_head(self._api_version, self._list_kind, len(own) + size) + own

    def list_items(self, records: Sequence[Record]) -> list[bytes]:
        return [list_item(self._message(record)) for record in records]

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        return Items(head, self.list_items(records), tail, separator=b"")

    def _message(self, record: Record) -> bytes:
        if not self._is_partial:
            return self._write(object_of(self._stored, record))
        return self._write({"metadata": decode_stored(metadata_bytes(record), in_pieces=is_offloaded())})


class ProtobufList:
    """A large list, produced as its client reads it. As the size of all items stands in its head, they are encoded
    twice, first to `measure` them: a client that does not read would cost a list otherwise.
    """

    is_slow = True
    tail = SEALED_TAIL

    def __init__(self, view: ProtobufView, metadata: JsonObject) -> None:
        self._view, self._metadata = view, metadata
        self._size = 0

    def measure(self, records: Sequence[Record]) -> None:
        self._size += sum(map(len, self._view.list_items(records)))

    @property
    def head(self) -> bytes:
        return self._view.list_head(self._metadata, self._size)

    def pieces(self, records: Sequence[Record]) -> Iterable[bytes | memoryview]:
        return pieces_of(self._view.list_items(records))
