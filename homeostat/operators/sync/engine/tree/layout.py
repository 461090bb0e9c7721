"""Which file of a directory is what: payload, metadata, defaults. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from homeostat.operators.sync.engine.errors import ConflictError

METADATA_FILES: Final = ("metadata.yaml", "metadata.yml", "metadata.json")
"""In the order of preference."""
DEFAULTS_EXTENSIONS: Final = (".json", ".yaml", ".yml", ".properties")
_defaults = re.compile(r"defaults(?:-(.+))?(\.[a-z]+)").fullmatch


def payload_file(names: Iterable[str]) -> str | None:
    """The one payload file; `ConflictError` if there are two."""
    found = sorted(each for each in names if each.startswith("resource.") and len(each) > len("resource."))
    if len(found) > 1:
        raise ConflictError(f"two files for one resource: {', '.join(found)}; keep one of them")
    return found[0] if found else None


def extension(name: str) -> str:
    return "." + name.rpartition(".")[2] if "." in name else ""


def metadata_file(names: Iterable[str]) -> str | None:
    there = set(names)
    return next((each for each in METADATA_FILES if each in there), None)


def defaults_profile(name: str) -> str | None:
    """The profile of a defaults file, empty for the plain one; None for any other file."""
    found = _defaults(name)
    if found is None or found[2] not in DEFAULTS_EXTENSIONS:
        return None
    return found[1] or ""


def is_hidden(name: str) -> bool:
    return name.startswith(".")
