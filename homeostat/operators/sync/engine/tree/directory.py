"""A repository, or the part of it that a command needs, as a value: directories with their files. Pure.

The driver of the repository reads it once; everything else works on this value. A file that is too large to read is
there by its name, and reading it is an error of its resource alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from homeostat.operators.sync.engine.errors import ValidationError

LARGEST_FILE: Final = 16 << 20
"""Bytes; of the resource of a larger file only itself fails."""
TOO_LARGE: Final = b"\0too large\0"
"""Stands for the content of a file beyond the limit, by identity."""


_NONE: Final[Mapping[str, Directory]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Directory:
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    directories: Mapping[str, Directory] = field(default_factory=lambda: MappingProxyType({}))
    links: frozenset[str] = frozenset()
    """Names of links, which are never followed: what is behind one is unknown."""

    def at(self, segments: Iterable[str]) -> Directory | None:
        found: Directory | None = self
        for each in segments:
            found = found.directories.get(each) if found is not None else None
        return found

    def is_linked(self, segments: Iterable[str]) -> bool:
        """Whether a link stands on the way to a path, or in place of a payload there."""
        found: Directory | None = self
        for each in segments:
            if found is None:
                return False
            if each in found.links:
                return True
            found = found.directories.get(each)
        return found is not None and any(each.startswith("resource.") for each in found.links)

    def read(self, name: str) -> bytes:
        data = self.files[name]
        if data is TOO_LARGE:
            raise ValidationError(f"file {name} is larger than {LARGEST_FILE >> 20} MiB, the limit of one file")
        return data

    def walk(self, path: str = "") -> Iterator[tuple[str, Directory]]:
        """This directory and all below it, parents before children, in the order of their names."""
        yield path or "/", self
        for name in sorted(self.directories):
            yield from self.directories[name].walk(f"{path}/{name}")


def directory_of(files: Mapping[str, bytes], links: Iterable[str] = ()) -> Directory:
    """The directory that holds these files and links, named by paths without a leading slash."""
    tree: dict[str, object] = {}
    same = dict[str, str]()
    """Most directories have files of the same few names."""
    for name, data in (*files.items(), *((each, None) for each in links)):
        *folders, last = name.split("/")
        node = tree
        for each in folders:
            inner = node.setdefault(each, {})
            if not isinstance(inner, dict):
                raise ambiguous(name)
            node = inner
        if last in node:
            raise ambiguous(name)
        node[same.setdefault(last, last)] = data
    return _frozen(tree)


def ambiguous(name: str) -> ValidationError:
    # Git compares names as bytes; a byte that is not UTF-8 is shown as a replacement character.
    return ValidationError(f"two files or directories have the name {name[:300]!r}; rename one of them in UTF-8")


def _frozen(node: dict[str, object]) -> Directory:
    files = {name: item for name, item in node.items() if isinstance(item, bytes)}
    below = {name: _frozen(item) for name, item in node.items() if isinstance(item, dict)}
    links = frozenset(name for name, item in node.items() if item is None)
    # Both trees together would take twice the memory.
    node.clear()
    return Directory(files, below or _NONE, links)
