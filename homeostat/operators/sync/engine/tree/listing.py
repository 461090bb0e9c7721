"""The resources of a repository: those directories that have a payload file. Pure.

Listing skips `_` and `.git` and is sorted by path, so parents come before children. A recursive listing
of a path that has a payload of its own includes all below it.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.operators.sync.engine.errors import SyncError, of
from homeostat.operators.sync.engine.paths.logical import ROOT, WILDCARD, segments
from homeostat.operators.sync.engine.payload.codec import Payload, decode
from homeostat.operators.sync.engine.payload.format import by_extension
from homeostat.operators.sync.engine.secrets.placeholders import OWN
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.engine.tree.layout import extension, is_hidden, payload_file


def has_payload(directory: Directory | None) -> bool:
    return directory is not None and any(each.startswith("resource.") for each in directory.files)


def read_payload(directory: Directory, path: str) -> Payload | None:
    """The payload as its file has it; None if there is no file."""
    try:
        name = payload_file(directory.files)
        if name is None:
            return None
        form, data = by_extension(extension(name)), directory.read(name)
        # A payload that is secret as a whole.
        return Payload(OWN if data.strip() == OWN.encode() else decode(data, form), form)
    except SyncError as error:
        raise of(path, error) from error


def resources(root: Directory, path: str, *, is_recursive: bool) -> list[str]:
    """Logical paths of resources: the path itself if it has a payload and the listing is not recursive, else those
    directly below it, or all below it.
    """
    start = root.at(segments(path))
    if start is None:
        return []
    if not is_recursive:
        if has_payload(start):
            return [path]
        return [each for each, directory in _children(start, path) if has_payload(directory)]
    return [each for each, directory in _walk(start, path) if has_payload(directory)]


def children(root: Directory, path: str) -> list[str]:
    """Those directly below a collection, whatever the path itself is."""
    start = root.at(segments(path))
    return [each for each, directory in _children(start, path) if has_payload(directory)] if start else []


def _children(directory: Directory, path: str) -> Iterator[tuple[str, Directory]]:
    prefix = "" if path == ROOT else path
    for name in sorted(directory.directories):
        if name not in (WILDCARD, ".git"):
            yield f"{prefix}/{name}", directory.directories[name]


def _walk(directory: Directory, path: str) -> Iterator[tuple[str, Directory]]:
    yield path, directory
    for below, each in _children(directory, path):
        yield from _walk(each, below)


def outline(root: Directory) -> list[str]:
    """The tree of directories as lines, without hidden ones and `_`."""
    lines = list[str]()
    for path, directory in _shown(root, ROOT):
        lines.append(path[1:])
        _branches(directory, path, "", lines)
    return lines


def _shown(directory: Directory, path: str) -> list[tuple[str, Directory]]:
    return [each for each in _children(directory, path) if not is_hidden(each[0].rpartition("/")[2])]


def _branches(directory: Directory, path: str, lead: str, lines: list[str]) -> None:
    below = _shown(directory, path)
    for place, (inner, each) in enumerate(below):
        is_last = place == len(below) - 1
        lines.append(f"{lead}{'└── ' if is_last else '├── '}{inner.rpartition('/')[2]}")
        _branches(each, inner, lead + ("    " if is_last else "│   "), lines)
