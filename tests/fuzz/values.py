"""Values that are wrong nearly everywhere, and ways to put them there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

ODD_VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "minus one": -1,
    "a fraction": 1.5,
    "a huge integer": 10**30,
    "beyond int64": 2**63,
    "a huge float": 1e300,
    "an empty string": "",
    "a NUL": "\0",
    "no time": "2020-99-99T00:00:00Z",
    "a huge quantity": "1e999999999",
    "many digits": "9" * 4000,
    "a long text": "é" * 5000,
    "an empty list": [],
    "a list with null": [None],
    "a list of numbers": [1],
    "a list of lists": [[]],
    "a list of odd objects": [{"name": 1, "": None}],
    "an empty object": {},
    "an object with null": {"a": None},
    "an object of objects": {"a": {"b": []}},
    "an object with an empty key": {"": "x"},
}

Path = tuple[str | int, ...]


def paths_of(value: Any, above: Path = ()) -> Iterator[Path]:
    """Where there is something in a value, itself left out."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in members:
        yield (*above, key)
        yield from paths_of(item, (*above, key))


def with_value(obj: Any, path: Path, value: Any) -> Any:
    """A copy of `obj` with another value at a path."""
    result = copy.deepcopy(obj)
    place = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return result


def nested(levels: int, leaf: bytes = b"1") -> bytes:
    """JSON objects in one another."""
    return b'{"a":' * levels + leaf + b"}" * levels
