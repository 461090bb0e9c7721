"""A column of `kubectl get`, and the function that fills a row of them.

A printer returns one cell for each of its columns, the wide ones included: clients hide what has priority 1. A cell
whose text moves with the clock is a `Since`; everything else is final until the object changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import Since, since
from homeostat.server.kinds.builtins.members import struct, structs, text

Cell = str | int | float | bool | Since | None
Print = Callable[[JsonObject], list[Any]]

NONE = "<none>"
UNSET = "<unset>"


class Column(msgspec.Struct, frozen=True):
    """A TableColumnDefinition as it is on the wire."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Printer(NamedTuple):
    columns: tuple[Column, ...]
    cells: Print
    conditions: Callable[[JsonObject], list[JsonObject]] | None = None
    """The conditions of a row, of kinds whose objects come to an end."""
    weight: int = 0
    """How long a row takes, in plain columns; 0 for as many as there are."""


NAME = Column("Name", format="name", description="The object's name, unique among its kind in its namespace.")
AGE = Column("Age", description="How long ago the object was created.")
CREATED_AT = Column("Created At", "date", description="When the object was created.")
CONTAINERS = Column("Containers", description="Names of the containers in the template.", priority=1)
IMAGES = Column("Images", description="Images of the containers in the template.", priority=1)
SELECTOR = Column("Selector", description="Which pods the object selects.", priority=1)


def count(name: str, description: str = "") -> Column:
    return Column(name, "integer", description=description)


def flag(name: str, description: str = "") -> Column:
    return Column(name, "boolean", description=description)


def shown(name: str, description: str = "") -> Column:
    return Column(name, description=description)


def wide(name: str, description: str = "") -> Column:
    return Column(name, description=description, priority=1)


def name_of(obj: JsonObject) -> str:
    return text(struct(obj, "metadata"), "name")


def age_of(obj: JsonObject) -> Since | str:
    return since(struct(obj, "metadata").get("creationTimestamp"))


def is_terminating(obj: JsonObject) -> bool:
    return bool(struct(obj, "metadata").get("deletionTimestamp"))


def container_cells(template: JsonObject) -> list[str]:
    """The names and the images of a pod template's containers."""
    containers = structs(struct(template, "spec"), "containers")
    return [",".join(text(each, member) for each in containers) for member in ("name", "image")]


def more(shown_parts: list[str], total: int, *, separator: str = ",") -> str:
    """The parts, and how many are left out."""
    joined = separator.join(shown_parts)
    return f"{joined} + {total - len(shown_parts)} more..." if total > len(shown_parts) else joined
