"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386) on decoded JSON.

The document is never changed: only the containers on the way to a change are copied. Results share the rest with the
document and with the patch. A malformed patch is a `BadRequestError`; one that cannot be applied (a failed `test` too)
is an `InvalidError`, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from homeostat.objects.errors import BadRequestError, InvalidError, TooLargeError, quoted
from homeostat.objects.json import MAX_DEPTH, Json, JsonObject, encode, excess, type_name

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
MAX_SHIFTED_ITEMS = 500_000_000
"""Items of lists behind those that a patch inserts or removes: they are moved by one place, each time."""

_MISSING = object()


def patch_between(before: JsonObject, after: JsonObject) -> JsonObject:
    """The merge patch that makes the second object of the first; a field that is null is the same as none."""
    patch: JsonObject = {key: None for key in before if after.get(key) is None}
    for key, value in after.items():
        old: Json = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := patch_between(old, value):
                patch[key] = inner
        elif value is not None and (value != old or type(value) is not type(old)):
            patch[key] = value
    return patch


def merge_patch(document: Json, patch: Json) -> Json:
    """`document` after the merge patch; nulls remove members, everything but objects is replaced."""
    if type(patch) is not dict:
        return patch
    result = dict(document) if type(document) is dict else {}
    for name, item in patch.items():
        if item is None:
            result.pop(name, None)
        elif type(item) is dict:
            result[name] = merge_patch(result.get(name), item)
        elif type(item) is list:
            result[name] = _without_nulls(item)
        else:
            result[name] = item
    return result


def _without_nulls(items: list[Json]) -> list[Json]:
    """The items without members that are null: unlike RFC 7396, Kubernetes drops these from lists, too."""
    return [_without_null_members(item) for item in items]


def _without_null_members(item: Json) -> Json:
    if type(item) is dict:
        return merge_patch(None, item)
    return _without_nulls(item) if type(item) is list else item


def json_patch(document: Json, operations: Json, *, limit: int = MAX_OPERATIONS) -> Json:
    """`document` after the operations, all of them or none."""
    if not isinstance(operations, list):
        raise BadRequestError(f"a JSON patch must be an array of operations, not {type_name(operations)}")
    if len(operations) > limit:
        raise TooLargeError(
            f"The allowed maximum operations in a JSON patch is {limit}, got {len(operations)}",
        )
    patched = _Patched(document)
    for operation in operations:
        _check(operation)
    for operation in operations:
        _STEPS[operation["op"]](patched, operation)
    result = _bounded(patched.root[0])
    # The moved value is still in the document, at another place, so it must not be changed in place.
    return _copied(result) if any(operation["op"] == "move" for operation in operations) else result


def _check(operation: Json) -> None:
    """As Kubernetes does: what cannot be read as an operation is a bad request, and one that is none is invalid."""
    if operation is not None and not isinstance(operation, dict):
        raise BadRequestError(f"a JSON patch operation must be an object, not {type_name(operation)}")
    given = operation or {}
    for name in ("op", "path", "from"):
        if not isinstance(given.get(name) or "", str):
            raise BadRequestError(f"{quoted(name)} of a JSON patch operation must be a string")
    kind = given.get("op")
    if kind not in _STEPS:
        raise InvalidError(f"unknown JSON patch operation {quoted(kind)}")
    for name in ("path", "from") if kind in ("move", "copy") else ("path",):
        if given.get(name) is None:
            raise InvalidError(f"JSON patch operation {quoted(kind)} needs {quoted(name)}")


class TestFailedError(InvalidError):
    """An operation `test` found another value."""

    __test__ = False


class _Patched:
    """A document whose containers are copied before they first change."""

    __slots__ = ("_copied_bytes", "_owned", "_shifted", "root")

    def __init__(self, document: Json) -> None:
        self.root: list[Json] = [document]
        # The copies by identity. They are referenced here, so that no identity is reused.
        self._owned: dict[int, Json] = {}
        self._copied_bytes = 0
        self._shifted = 0

    def get(self, path: str) -> Json:
        """The value at a path, `_MISSING` if only its last step does not exist."""
        container, key = self._find(path, owned=False)
        return _item(container, key)

    def holder(self, path: str) -> tuple[Json, str]:
        """The container that holds a path's last step, free to change."""
        return self._find(path, owned=True)

    def count_copy(self, value: Json) -> None:
        self._copied_bytes += len(encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise InvalidError(f"the JSON patch copies more than {MAX_COPIED_BYTES} bytes")

    def count_shift(self, items: int) -> None:
        self._shifted += items
        if self._shifted > MAX_SHIFTED_ITEMS:
            raise InvalidError(
                "the JSON patch inserts or removes too many items at the start of long lists; replace the list instead"
            )

    def _find(self, path: str, *, owned: bool) -> tuple[Json, str]:
        steps = _steps(path)
        container: Json = self.root
        key = "0"
        for step in steps:
            child = _item(container, key)
            if type(child) is not dict and type(child) is not list:
                raise InvalidError(f"JSON patch: {quoted(path)} does not exist")
            if owned and id(child) not in self._owned:
                child = child.copy()
                self._owned[id(child)] = child
                _replace(container, key, child)
            container, key = child, step
        return container, key


def _steps(path: str) -> list[str]:
    if not path:
        return []
    if path[0] != "/":
        raise InvalidError(f"JSON patch: {quoted(path)} must be empty or start with a slash")
    steps = path[1:].split("/")
    if "~" in path:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in steps]
    if len(steps) > MAX_DEPTH:
        raise InvalidError(f"JSON patch: a path has more than {MAX_DEPTH} steps")
    return steps


def _bounded(value: Json) -> Json:
    """The value, if it is not too deep for recursion."""
    problem = excess(value)
    if problem:
        raise InvalidError(f"the result of the JSON patch {problem}")
    return value


def _place(items: list[Json], key: str, *, end: int) -> int:
    """An index below `end`; counted from the end where negative, as Kubernetes' library allows."""
    digits = key.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (len(digits) > 1 and digits[0] == "0"):
        raise InvalidError(f"JSON patch: {quoted(key)} is not an index of an array")
    place = int(key) if len(key) < 10 else end
    if place < 0:
        place += end
    if not 0 <= place < end:
        raise InvalidError(f"JSON patch: index {key} is out of the {len(items)} items of the array")
    return place


def _item(container: Json, key: str) -> Json:
    if type(container) is dict:
        return container.get(key, _MISSING)
    return container[_place(container, key, end=len(container))]


def _replace(container: Json, key: str, value: Json) -> None:
    if type(container) is dict:
        container[key] = value
    else:
        container[_place(container, key, end=len(container))] = value


def _insert(patched: _Patched, path: str, value: Json) -> None:
    container, key = patched.holder(path)
    if type(container) is dict or not path:
        _replace(container, key, value)
    elif key == "-":
        container.append(value)
    else:
        place = _place(container, key, end=len(container) + 1)
        patched.count_shift(len(container) - place)
        container.insert(place, value)


def _delete(patched: _Patched, path: str) -> Json:
    container, key = patched.holder(path)
    if not path:
        raise InvalidError("JSON patch: the whole document cannot be removed")
    if type(container) is dict:
        return container.pop(key) if key in container else _nowhere(path)
    place = _place(container, key, end=len(container))
    patched.count_shift(len(container) - place)
    return container.pop(place)


def _nowhere(path: str) -> NoReturn:
    raise InvalidError(f"JSON patch: {quoted(path)} does not exist")


def _add(patched: _Patched, operation: Json) -> None:
    _insert(patched, operation["path"], operation.get("value"))


def _remove(patched: _Patched, operation: Json) -> None:
    _delete(patched, operation["path"])


def _change(patched: _Patched, operation: Json) -> None:
    # A missing member is added: the RFC refuses that, Kubernetes' library does not, and clients rely on it.
    container, key = patched.holder(operation["path"])
    _replace(container, key, operation.get("value"))


def _move(patched: _Patched, operation: Json) -> None:
    source, target = operation["from"], operation["path"]
    if target.startswith(source + "/"):
        raise InvalidError(f"JSON patch: {quoted(source)} cannot move into itself")
    if source == target:
        if patched.get(source) is _MISSING:
            _nowhere(source)
        return
    _insert(patched, target, _delete(patched, source))


def _copy(patched: _Patched, operation: Json) -> None:
    source, target = operation["from"], operation["path"]
    value = patched.get(source)
    if value is _MISSING:
        _nowhere(source)
    patched.count_copy(_bounded(value))
    _insert(patched, target, _copied(value))


def _test(patched: _Patched, operation: Json) -> None:
    path = operation["path"]
    expected = operation.get("value")
    found = patched.get(path)
    # A missing member passes a test for null: this is how a patch requires that a field is absent.
    if not _same(None if found is _MISSING else found, expected):
        raise TestFailedError(f"JSON patch: testing path {path} failed")


def _copied(value: Json) -> Json:
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


def _same(left: Json, right: Json) -> bool:
    """JSON equality: `true` is not 1, 1 is 1.0."""
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(_same(item, right[name]) for name, item in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(_same, left, right))
    return (type(left) is bool) == (type(right) is bool) and bool(left == right)


_STEPS: dict[str, Callable[[_Patched, Json], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _change,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
