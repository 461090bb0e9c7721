"""Logical paths: absolute names of resources and collections, the same in commands, files and policies. Pure.

A path is kept as its normal text (`/customers/acme`). Backslashes become slashes and repeated slashes collapse. A
trailing slash is dropped and remembered: it says that the path names a collection.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from homeostat.operators.sync.engine.errors import ValidationError

ROOT: Final = "/"
WILDCARD: Final = "_"
LONGEST: Final = 4096
"""Characters of a path."""


class Target(NamedTuple):
    path: str
    is_collection: bool = False
    """Whether a trailing slash says so. Without one a path may still name a collection."""


def parse(text: str, *, allows_relative: bool = False) -> Target:
    """The normal form; `ValidationError` for a path that names nothing in a repository."""
    given = text.strip().replace("\\", "/")
    if not given:
        raise ValidationError("a path is required; expected an absolute path such as /customers/acme")
    if len(given) > LONGEST:
        raise ValidationError(f"the path has {len(given)} characters; at most {LONGEST} are allowed")
    if not given.startswith("/") and not allows_relative:
        raise ValidationError(f'path "{text}" is relative; expected a leading "/"')
    parts = [each for each in given.split("/") if each]
    for each in parts:
        _check(each, text)
    return Target("/" + "/".join(parts), bool(parts) and given.endswith("/"))


def _check(segment: str, text: str) -> None:
    if segment in (".", ".."):
        raise ValidationError(f'path "{text}" has the segment "{segment}", which is not allowed')
    if segment == WILDCARD:
        raise ValidationError(f'path "{text}" has the segment "_", which is reserved for metadata of collections')
    if "\0" in segment:
        raise ValidationError("the path has a null character, which is not allowed")


def normal(text: str) -> str:
    return parse(text).path


def segments(path: str) -> list[str]:
    return [each for each in path.split("/") if each]


def name(path: str) -> str:
    """The last segment; empty for the root."""
    return path.rpartition("/")[2]


def parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def join(path: str, segment: str) -> str:
    """The path below, which may be several levels deeper."""
    trimmed = segment.strip().strip("/")
    if not trimmed or WILDCARD in trimmed.split("/"):
        raise ValidationError(f'"{segment}" is not a name; expected a segment that is neither empty nor "_"')
    return normal(f"{path}/{trimmed}")


def is_within(path: str, scope: str) -> bool:
    """Whether the path is the scope or lies below it."""
    return scope == ROOT or path == scope or path.startswith(f"{scope}/")


def overlaps(a: str, b: str) -> bool:
    """Whether one of two paths contains the other."""
    first, second = normal(a), normal(b)
    return is_within(first, second) or is_within(second, first)


def raw_segments(template: str) -> list[str]:
    """The segments of a path with templates: a slash inside of `{{ }}` separates nothing."""
    found, piece, depth, at = list[str](), "", 0, 0
    while at < len(template):
        pair = template[at : at + 2]
        if pair in ("{{", "}}"):
            depth = max(depth + (1 if pair == "{{" else -1), 0)
            piece, at = piece + pair, at + 2
            continue
        if template[at] == "/" and not depth:
            found.append(piece)
            piece = ""
        else:
            piece += template[at]
        at += 1
    return [each for each in [*found, piece] if each]
