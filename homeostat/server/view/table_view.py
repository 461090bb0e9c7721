"""Objects as rows of a meta.k8s.io/v1 Table. The cells of a row are computed once and cached with the record."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

from homeostat.edge.items import Items
from homeostat.objects.json import JsonObject, encode
from homeostat.server.request.call import Call
from homeostat.server.view.encode import (
    LIST_TAIL,
    Note,
    metadata_bytes,
    metadata_start,
    noted,
    object_bytes,
    object_of,
)
from homeostat.server.view.json_lines import JsonLines
from homeostat.server.view.table import Columns, Row
from homeostat.store.base import Record

_MANY_ROWS = 10_000
_MANY_BYTES = 2_000_000
"""Bytes of objects times columns, which take some tens of milliseconds."""
_QUICK_BYTES = 256 * 1024
"""As `_MANY_BYTES`, for some milliseconds."""
_WITHOUT_METADATA = frozenset({"None", "Object"})
"""Values of `includeObject` for which a row does not have the metadata alone."""


class TableView(JsonLines):
    is_shared = False

    def __init__(self, call: Call) -> None:
        self._kind = call.kind
        self._columns: Columns = call.kind.columns
        self._include = call.options.include_object
        self._backend = call.backend
        self._version = call.representation.version.encode()
        self._partial_head = (
            b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % self._version
        )
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
        row = self._row(record, self._backend.clock())
        return self._document(row, {"resourceVersion": str(record.revision)})

    def takes_long(self, records: Sequence[Record]) -> bool:
        """Judged by the size of the records without a prepared row: a column's path may read all of an object."""
        if len(records) > _MANY_ROWS:
            return True
        columns, unread = self._columns, 0
        for record in records:
            note: Note | None = record.note
            if note is None or note.columns is not columns:
                unread += len(record.value)
        return unread * columns.weight > _MANY_BYTES

    @property
    def quick_bytes(self) -> float:
        return _QUICK_BYTES / self._columns.weight

    def bookmark_object(self, metadata: dict[str, Any]) -> bytes:
        return self._document(_row(b"[]", self._partial(encode(metadata))), metadata)

    def listed(self, records: Sequence[Record], metadata: JsonObject) -> Items:
        return self.joined_items(self.list_head(metadata), records, LIST_TAIL)

    def list_head(self, metadata: JsonObject) -> bytes:
        return b'{"kind":"Table","apiVersion":"meta.k8s.io/%s","metadata":%s,"columnDefinitions":%s,"rows":[' % (
            self._version,
            encode(metadata),
            self._definitions,
        )

    def list_items(self, records: Sequence[Record]) -> list[bytes]:
        now = self._backend.clock()
        if self._include in _WITHOUT_METADATA:
            return [self._row(record, now) for record in records]
        # As `_row` would, without its calls: a list has thousands of rows.
        template = b'{"cells":%%b,"object":%b%%b}}' % self._partial_head
        columns, render = self._columns, self._columns.render
        head, start = self._kind.stored_head, metadata_start(self._kind)
        rows: list[bytes] = []
        for record in records:
            note: Note | None = record.note
            if note is None or note.columns is not columns:
                note = self._prepared(record)
            row = cast(Row, note.row)
            cells = row.head if row.at is None else render(row, now)
            value, end = record.value, note.metadata_end
            metadata = value[start:end] if end and value.startswith(head) else metadata_bytes(record)
            rows.append(template % (cells, metadata))
        return rows

    def joined_items(self, head: bytes, records: Sequence[Record], tail: bytes) -> Items:
        return Items(head, self.list_items(records), tail)

    def _document(self, row: bytes, metadata: JsonObject) -> bytes:
        return b"%s%s]}" % (self.list_head(metadata), row)

    def _row(self, record: Record, now: float) -> bytes:
        note: Note | None = record.note
        if note is None or note.columns is not self._columns:
            note = self._prepared(record)
        return _row(self._columns.render(cast(Row, note.row), now), self._object(record))

    def _prepared(self, record: Record) -> Note:
        obj = object_of(self._kind, record)
        note = noted(record, obj)
        # A thread may read it meanwhile.
        note.row = self._columns.prepare(obj)
        note.columns = self._columns
        return note

    def _object(self, record: Record) -> bytes:
        match self._include:
            case "None":
                return b"null"
            case "Object":
                return object_bytes(self._kind, record)
            case _:
                return self._partial(metadata_bytes(record))

    def _partial(self, metadata: bytes) -> bytes:
        return b"%b%b}" % (self._partial_head, metadata)


def _row(cells: bytes, obj: bytes) -> bytes:
    return b'{"cells":%s,"object":%s}' % (cells, obj)
