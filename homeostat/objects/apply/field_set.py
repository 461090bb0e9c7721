"""Sets of field paths, held as the nested JSON that `managedFields` calls FieldsV1.

    {"f:spec": {"f:replicas": {}, "f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:port": {}}}}}

An empty object is a member; `.` says that a path with members below it is one itself. Keys are `f:` a field, `k:` a
list item by its keys, `v:` an item by its value, `i:` an item by its place. The decoded JSON is the set: nothing is
built to read it and nothing to write it. Sets are immutable; the operations share unchanged parts, and return their
first operand itself if they change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from homeostat.objects.errors import BadRequestError, quoted
from homeostat.objects.json import Json, decode

FieldSet = dict[str, Any]

LEAF: FieldSet = {}
"""The one node of every path that is a member and has none below; never changed."""


def is_member(node: FieldSet) -> bool:
    return not node or "." in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right:
        return left
    result: FieldSet | None = None
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None:
            merged = theirs
        elif ours or theirs:
            merged = _joined(ours, theirs)
            if merged is ours:
                continue
        else:
            continue
        if result is None:
            result = dict(left)
        result[key] = merged
    return left if result is None else result


def _joined(ours: FieldSet, theirs: FieldSet) -> FieldSet:
    if not ours:
        return theirs if "." in theirs else {".": LEAF, **theirs}
    if not theirs:
        return ours if "." in ours else {".": LEAF, **ours}
    return union(ours, theirs)


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its keys in order, as Kubernetes writes it."""
    if not fields:
        return LEAF
    return {key: ordered(fields[key]) if fields[key] else LEAF for key in sorted(fields)}


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The members of `left` that are not in `right`; a member of `right` does not remove the members below it."""
    return _subtract(left, right, _reduced)


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """The members of `left` that are neither in `right` nor below a member of it."""
    return _subtract(left, right, _cleared)


def _subtract(left: FieldSet, right: FieldSet, rest_of: Callable[[FieldSet, FieldSet], FieldSet | None]) -> FieldSet:
    """`left` with each node that `right` has too replaced by `rest_of` both, or removed if that is None."""
    result: FieldSet | None = None
    for key in left if len(left) < len(right) else right:
        ours, theirs = left.get(key), right.get(key)
        if ours is None or theirs is None or (rest := rest_of(ours, theirs)) is ours:
            continue
        if result is None:
            result = dict(left)
        if rest is None:
            del result[key]
        else:
            result[key] = rest
    return left if result is None else result


def _reduced(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return ours if theirs and "." not in theirs else None
    if not theirs:
        theirs = {".": LEAF}
    return _settled(_subtract(ours, theirs, _reduced), ours)


def _settled(rest: FieldSet, before: FieldSet) -> FieldSet | None:
    """A node after members were removed: None without members, and a leaf if only itself is left."""
    if rest is before:
        return before
    if not rest:
        return None
    return LEAF if len(rest) == 1 and "." in rest else rest


def _cleared(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if is_member(theirs):
        return None
    return _settled(_subtract(ours, theirs, _cleared), ours) if ours else ours


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, ours in left.items():
        theirs = right.get(key)
        if theirs is None:
            continue
        if not ours:
            if is_member(theirs):
                result[key] = LEAF
        elif not theirs:
            if "." in ours:
                result[key] = LEAF
        elif both := intersection(ours, theirs):
            result[key] = LEAF if len(both) == 1 and "." in both else both
    return result


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Every member: first those of a level, then those below each, in the order of their names."""
    for key in sorted(fields):
        if key != "." and is_member(fields[key]):
            yield (key,)
    for key in sorted(fields):
        for path in paths(fields[key]):
            yield (key, *path)


def path_text(path: tuple[str, ...]) -> str:
    """A path as conflicts show it: `.spec.ports[port=80].name`."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, rest = element[:2], element[2:]
    if kind == "f:":
        return "." + rest
    if kind == "k:":
        return "[" + ",".join(f"{name}={quoted(value)}" for name, value in decode(rest.encode()).items()) + "]"
    return f"[={rest}]" if kind == "v:" else f"[{rest}]"


def check(fields: Json) -> FieldSet:
    """FieldsV1 from outside, or `BadRequestError`."""
    if not isinstance(fields, dict):
        raise BadRequestError("fieldsV1 must be an object")
    for key, node in fields.items():
        if key != ".":
            _check_element(key)
        check(node)
    return fields


def _check_element(key: str) -> None:
    kind, rest = key[:2], key[2:]
    if kind == "f:":
        return
    if kind in ("k:", "v:"):
        value = decode(rest.encode())
        if kind == "v:" or (isinstance(value, dict) and value):
            return
    if kind == "i:" and rest.removeprefix("-").isdigit():
        return
    raise BadRequestError(f"fieldsV1: {quoted(key)} is not a path element")
