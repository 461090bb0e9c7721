"""Objects as rows of a meta.k8s.io/v1 Table. The cells of a row are computed once and cached with the record."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

from homeostat.edge.items import Items
from homeostat.objects.json import JsonObject, encode
from homeostat.server.request.call import Call
from homeostat.server.view.encode import Note, metadata_bytes, note_of, object_bytes, object_of
from homeostat.server.view.table import Columns, Row
from homeostat.store.base import Record

_MANY_ROWS = 10_000
_MANY_BYTES = 2_000_000
"""Bytes of objects times columns, which take some tens of milliseconds."""


class TableView:
    is_shared = False
    is_null_if_empty = False

    def __init__(self, call: Call) -> None:
        self._kind = call.kind
        self._columns: Columns = call.kind.columns
        self._include = call.options.include_object
        self._backend = call.backend
        self._version = call.representation.version.encode()
        self._definitions = self._columns.definitions
        self.share_key = ("table", call.kind.api_version, self._include, self._version, False)

    @cached_property
    def later(self) -> TableView:
        """The columns are sent once, with the first event."""
        later = copy(self)
        later._definitions = b"null"
        later.share_key = (*self.share_key[:-1], True)
        later.later = later
        return later

    def item(self, record: Record) -> bytes:
        row = self._row(record, self._backend.now().timestamp())
        return self._document(row, {"resourceVersion": str(record.revision)})

    def takes_long(self, records: Sequence[Record]) -> bool:
        """Judged by the size of the records without a prepared row: a column's path may read all of an object."""
        if len(records) > _MANY_ROWS:
            return True
        unread = sum(len(record.value) for record in records if not self._is_prepared(record))
        return unread * len(self._columns.columns) > _MANY_BYTES

    def _is_prepared(self, record: Record) -> bool:
        note: Note | None = record.note
        return note is not None and note.row is not None and note.row[0] is self._columns

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return self._document(_row(b"[]", self._partial(encode(metadata))), metadata)

    def list_head(self, metadata: JsonObject) -> bytes:
        return b'{"kind":"Table","apiVersion":"meta.k8s.io/%s","metadata":%s,"columnDefinitions":%s,"rows":[' % (
            self._version,
            encode(metadata),
            self._definitions,
        )

    def list_items(self, records: Sequence[Record]) -> list[bytes]:
        now = self._backend.now().timestamp()
        return [self._row(record, now) for record in records]

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        return Items(head, self.list_items(records), tail)

    def _document(self, row: bytes, metadata: JsonObject) -> bytes:
        return b"%s%s]}" % (self.list_head(metadata), row)

    def _row(self, record: Record, now: float) -> bytes:
        note = note_of(record)
        cached = note.row
        if cached is None or cached[0] is not self._columns:
            cached = note.row = (self._columns, self._columns.prepare(object_of(self._kind, record)))
        row = cast(Row, cached[1])
        return _row(self._columns.render(row, now), self._object(record))

    def _object(self, record: Record) -> bytes:
        match self._include:
            case "None":
                return b"null"
            case "Object":
                return object_bytes(self._kind, record)
            case _:
                return self._partial(metadata_bytes(record))

    def _partial(self, metadata: bytes) -> bytes:
        return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%s","metadata":%s}' % (
            self._version,
            metadata,
        )


def _row(cells: bytes, obj: bytes) -> bytes:
    return b'{"cells":%s,"object":%s}' % (cells, obj)
