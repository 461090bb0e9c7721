"""A document of a YAML or JSON file, with the place where it was read. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import Json


class Document(msgspec.Struct, frozen=True):
    """One document of a file; `line` is where it begins."""

    source: str
    value: Json
    line: int = 1
