"""A list as the server itself shows it: its columns and a row for each object. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from homeostat.objects.quantity import Quantity, QuantityError

ACCEPT: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
ACCEPT_METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


class Column(msgspec.Struct, frozen=True):
    name: str = ""
    type: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether it belongs to `-o wide`."""
        return self.priority > 0


class RowMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = ""
    deletion_timestamp: str | None = ""


class RowObject(msgspec.Struct, frozen=True):
    metadata: RowMetadata = RowMetadata()


class Row(msgspec.Struct, frozen=True):
    cells: list[Any] = []
    object: RowObject = RowObject()

    @property
    def metadata(self) -> RowMetadata:
        return self.object.metadata


class ListMetadata(msgspec.Struct, frozen=True, rename={"token": "continue", "remaining": "remainingItemCount"}):
    token: str = ""
    remaining: int | None = None


class Table(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    column_definitions: list[Column] = []
    rows: list[Row] | None = None
    metadata: ListMetadata = ListMetadata()


class Names(msgspec.Struct, frozen=True):
    """A list of objects of which only the metadata is read."""

    items: list[RowObject] | None = None
    metadata: ListMetadata = ListMetadata()


read_table = msgspec.json.Decoder(Table).decode
read_names = msgspec.json.Decoder(Names).decode


def shown_columns(columns: Sequence[Column], rows: Sequence[Row], *, has_wide: bool) -> list[tuple[int, Column]]:
    """With their places: the usual ones, then those of `-o wide` that say something of one of the rows."""
    placed = list(enumerate(columns))
    wide = [(at, each) for at, each in placed if has_wide and each.is_wide and any(_says(row, at) for row in rows)]
    return [(at, each) for at, each in placed if not each.is_wide] + wide


def _says(row: Row, at: int) -> bool:
    return at < len(row.cells) and row.cells[at] not in (None, "", "<none>", "<unset>", "<unknown>")


def sorted_rows(rows: Sequence[Row], columns: Sequence[Column], column: str, *, is_reversed: bool) -> list[Row]:
    """By the cells of a column; numbers and quantities by their value. An unknown column leaves the order."""
    at = next((at for at, each in enumerate(columns) if each.name == column), None)
    if column == "Namespace":
        return sorted(rows, key=lambda row: (row.metadata.namespace, row.metadata.name), reverse=is_reversed)
    if column == "Age":
        # The newest object has the smallest age.
        return sorted(rows, key=lambda row: row.metadata.creation_timestamp or "", reverse=not is_reversed)
    if at is None:
        return list(rows)
    return sorted(rows, key=lambda row: _key(row.cells[at] if at < len(row.cells) else None), reverse=is_reversed)


def _key(cell: Any) -> tuple[int, float, str]:
    match cell:
        case None | "" | "<none>" | "<unknown>":
            return 2, 0.0, ""
        case bool():
            return 0, float(cell), ""
        case int() | float():
            return 0, float(cell), ""
    text = str(cell)
    head = text.split("/", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    try:
        return 0, Quantity.parse(head).nanos / 1e9, text
    except QuantityError:
        return 1, 0.0, text
