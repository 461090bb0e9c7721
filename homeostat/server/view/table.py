"""The columns of a kind and the cells of its objects for a meta.k8s.io/v1 Table, which `kubectl get` prints.

Lists of thousands of rows must be fast, and while an object stays the same only its ages change. So `prepare` computes
a row once (its cells as JSON with a gap for each age, cached with the object), and `render` inserts the ages for each
request, in about a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.objects.json.path import Budget, JSONPathError, compile_path
from homeostat.objects.time.age import INVALID, Since, human_duration, since
from homeostat.server.kinds.builtins.columns import printer_of
from homeostat.server.kinds.builtins.columns.column import AGE, NAME, Cell, Column, Printer, age_of, name_of
from homeostat.server.kinds.builtins.members import integer, text

_LONGEST_CELL = 16 * 1024
"""Characters of a text cell: a definition may show a large object in many columns."""

_COMBINED = 400
"""As many plain columns take no longer than one whose path combines steps that each find many values."""
_CUSTOM_AGE = msgspec.structs.replace(AGE, type="date")
_sorted_json = msgspec.json.Encoder(order="sorted").encode


class Row(msgspec.Struct, frozen=True, gc=False):
    """An object's cells as JSON: `head`, the age of `at`, `tail`, and so on through `more`.

    A row without an age has `at` None and is all in `head`.
    """

    head: bytes
    at: float | None = None
    tail: bytes = b""
    more: tuple[tuple[float, bytes], ...] = ()


class Columns:
    """The columns of one kind, compiled."""

    __slots__ = ("_conditions", "_print", "columns", "definitions", "weight")

    def __init__(self, printer: Printer) -> None:
        self.columns = printer.columns
        self.definitions: bytes = encode(printer.columns)
        """The Table's `columnDefinitions`, encoded."""
        self.weight = printer.weight or max(1, len(printer.columns))
        """How long a row takes, in plain columns."""
        self._print, self._conditions = printer.cells, printer.conditions

    def cells(self, obj: JsonObject, now: float) -> list[Json]:
        return [each.text(now) if isinstance(each, Since) else each for each in self._print(obj)]

    def row(self, obj: JsonObject, now: float) -> JsonObject:
        """The cells and the conditions, if there are any."""
        conditions = self._conditions(obj) if self._conditions is not None else None
        return {"cells": self.cells(obj, now), **({"conditions": conditions} if conditions else {})}

    def prepare(self, obj: JsonObject) -> Row:
        pieces, ages = [bytearray(b"[")], []
        for index, cell in enumerate(self._print(obj)):
            if index:
                pieces[-1] += b","
            if isinstance(cell, Since):
                pieces[-1] += encode(cell.before)[:-1]
                ages.append(cell.at)
                pieces.append(bytearray(encode(cell.after)[1:]))
            else:
                pieces[-1] += encode(cell)
        pieces[-1] += b"]"
        if self._conditions is not None and (conditions := self._conditions(obj)):
            # What follows the cells of a row is kept with them.
            pieces[-1] += b',"conditions":%b' % encode(conditions)
        if not ages:
            return Row(bytes(pieces[0]))
        more = tuple(zip(ages[1:], map(bytes, pieces[2:]), strict=True))
        return Row(bytes(pieces[0]), ages[0], bytes(pieces[1]), more)

    @staticmethod
    def render(row: Row, now: float) -> bytes:
        """The JSON array of a prepared row's cells."""
        if row.at is None:
            return row.head
        rendered = b"%b%b%b" % (row.head, human_duration(now - row.at).encode(), row.tail)
        for at, tail in row.more:
            rendered += b"%b%b" % (human_duration(now - at).encode(), tail)
        return rendered


def columns_of(group: str, kind: str, printer_columns: Sequence[JsonObject] = (), *, custom: bool = False) -> Columns:
    """The columns of a kind; `printer_columns` are a custom kind's `additionalPrinterColumns`."""
    return Columns(_custom_printer(printer_columns) if custom else printer_of(group, kind))


def _custom_printer(printer_columns: Iterable[JsonObject]) -> Printer:
    """Name and the definition's columns; Name and Age if it has none."""
    columns, readers, weight = [], [], 1
    for each in printer_columns:
        path = text(each, "jsonPath")
        try:
            compiled = compile_path(path)
        except JSONPathError:
            continue
        weight += _COMBINED if compiled.is_combined else 1
        described = text(each, "description") or f"Custom resource definition column (in JSONPath format): {path}"
        kind = text(each, "type")
        columns.append(Column(text(each, "name"), kind, text(each, "format"), described, integer(each, "priority")))
        readers.append((compiled.first, _CELLS.get(kind, _no_cell)))
    if not columns:
        return Printer((NAME, _CUSTOM_AGE), lambda obj: [name_of(obj), age_of(obj)])

    def cells(obj: JsonObject) -> list[Cell]:
        budget = Budget()
        return [name_of(obj), *(cell(first(obj, budget)) for first, cell in readers)]

    return Printer((NAME, *columns), cells, weight=weight)


def _no_cell(_value: Json) -> Cell:
    return None


def _string_cell(value: Json) -> Cell:
    match value:
        case None | str():
            shown = value
        case _:
            shown = _sorted_json(value).decode()
    return shown if shown is None or len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."


def _integer_cell(value: Json) -> Cell:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number_cell(value: Json) -> Cell:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean_cell(value: Json) -> Cell:
    return value if isinstance(value, bool) else None


def _date_cell(value: Json) -> Cell:
    if not isinstance(value, str):
        return None
    age = since(value)
    return age if isinstance(age, Since) else INVALID


_CELLS: dict[str, Callable[[Json], Cell]] = {
    "string": _string_cell,
    "integer": _integer_cell,
    "number": _number_cell,
    "boolean": _boolean_cell,
    "date": _date_cell,
}
