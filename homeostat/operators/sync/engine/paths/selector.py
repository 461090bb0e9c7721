"""The address of a metadata document: a resource, a collection, or all that match a pattern. Pure.

| text | address |
|---|---|
| `/customers/acme` | the resource |
| `/customers/`, `/customers/_`, `/` | the collection |
| `/customers/_/items`, `/customers/a*/items` | the collections that match, in selector mode |
"""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths import glob
from homeostat.operators.sync.engine.paths.logical import WILDCARD


@dataclass(frozen=True, slots=True)
class Selector:
    segments: tuple[str, ...]
    is_collection: bool
    is_pattern: bool = False

    @property
    def text(self) -> str:
        return "/" + "/".join(self.segments)

    @property
    def directory(self) -> str:
        """Where its documents are, relative to the repository: without a slash at either end."""
        parts = (*self.segments, WILDCARD) if self.is_collection else self.segments
        return "/".join(parts)


def parse_selector(text: str) -> Selector:
    given = text.strip().replace("\\", "/")
    if not given.startswith("/"):
        raise ValidationError(f'path "{text}" is relative or empty; expected a leading "/"')
    parts = [each for each in given.split("/") if each]
    for each in parts:
        if each in (".", "..") or "\0" in each:
            raise ValidationError(f'path "{text}" has the segment "{each}", which is not allowed')
        if glob.is_glob(each):
            glob.check(each)
    is_collection = not parts or given.endswith("/")
    if parts and parts[-1] == WILDCARD:
        parts, is_collection = parts[:-1], True
    is_pattern = any(is_wild(each) for each in parts)
    return Selector(tuple(parts), is_collection or is_pattern, is_pattern)


def is_wild(segment: str) -> bool:
    return segment == WILDCARD or glob.is_glob(segment)


def selects(segment: str, name: str) -> bool:
    """Whether a segment of a selector matches a name."""
    if segment == WILDCARD:
        return True
    return glob.matches(segment, name) if glob.is_glob(segment) else segment == name
