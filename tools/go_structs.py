"""Go struct definitions as facts: what a field's tags and comment markers say, and whether it is a pointer.

Only as much of Go as Kubernetes' `types.go` files use: one field a line, tags in backquotes, markers in the comment
above. JSON's `omitempty` and the pointer are what neither OpenAPI nor a `.proto` file tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_STRUCT = re.compile(r"type (\w+) struct ?\{(\}?)$")
_FIELD = re.compile(r"\t(?:\w+\s+)?([\w.*\[\]]+)\s+`([^`]*)`")
_MARKER = re.compile(r"\s*//\s*\+(\w+)(?:=(.*))?$")
_TAG = re.compile(r'(\w+):"([^"]*)"')

Markers = dict[str, list[str]]


@dataclass(frozen=True)
class GoField:
    type: str
    tags: dict[str, str]
    markers: Markers

    @property
    def json_name(self) -> str:
        """Empty for a struct whose fields stand in its parent."""
        return self.tags.get("json", "").partition(",")[0]

    @property
    def omits_empty(self) -> bool:
        return "omitempty" in self.tags.get("json", "")

    @property
    def is_pointer(self) -> bool:
        return self.type.startswith("*")

    @property
    def number(self) -> int:
        """The protobuf field number; 0 for a field that protobuf does not carry."""
        parts = self.tags.get("protobuf", "").split(",")
        return int(parts[1]) if len(parts) > 1 else 0


@dataclass
class GoStruct:
    markers: Markers
    fields: list[GoField] = field(default_factory=list)

    @property
    def is_object(self) -> bool:
        """Whether it carries its own `kind` and `apiVersion`."""
        return any(each.type.endswith("TypeMeta") and not each.json_name for each in self.fields)


def structs_in(directory: Path) -> dict[str, GoStruct]:
    """Every struct of a Go package, by name."""
    found: dict[str, GoStruct] = {}
    for path in sorted(directory.glob("*.go")):
        if not path.name.startswith("zz_") and not path.name.endswith(("_test.go", ".pb.go")):
            found.update(_structs(path.read_text()))
    return found


def _structs(text: str) -> Iterator[tuple[str, GoStruct]]:
    current: GoStruct | None = None
    markers: Markers = {}
    for line in text.splitlines():
        if marker := _MARKER.match(line):
            markers.setdefault(marker[1], []).append(marker[2] or "")
        elif opening := _STRUCT.match(line):
            struct, markers = GoStruct(markers), {}
            current = None if opening[2] else struct
            yield opening[1], struct
        elif line == "}":
            current, markers = None, {}
        elif current is not None and (member := _FIELD.match(line)):
            current.fields.append(GoField(member[1], dict(_TAG.findall(member[2])), markers))
            markers = {}
        elif line.strip() and not line.lstrip().startswith("//"):
            markers = {}
