"""The objects that a plane creates at its first start, as they are stored. Pure, but for reading the package.

They are namespaces, priority classes, objects of flow control, API services, and the default roles and bindings of
Kubernetes. The table `data/first_objects.jsonl` has each as a request would have stored it, except for its uid and its
times; `tools/derive_first_objects.py` makes it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from homeostat.objects.json import encode
from homeostat.store.base import Draft, Key, Put, Record

TABLE = "data/first_objects.jsonl"
UID = "00000000-0000-4000-8000-000000000000"
TIME = "1970-01-01T00:00:00Z"
"""In place of those of the first start."""
_MARK = b'"metadata":{"resourceVersion":"'


class _Entry(msgspec.Struct, gc=False):
    resource: str
    namespace: str
    name: str
    value: msgspec.Raw


class FirstRecords(NamedTuple):
    missing: list[Put]
    """The creations of those that do not exist, in an order in which each finds its namespace."""
    changed: frozenset[Key]
    """Those that are not as this version creates them."""


def first_records(get: Callable[[Key], Record | None], *, now: str, new_uid: Callable[[], str]) -> FirstRecords:
    """Compares the bytes, so that a start that has nothing to do decodes no object."""
    table = pkgutil.get_data(__package__, TABLE)
    assert table is not None
    missing, changed = list[Put](), set[Key]()
    for entry in msgspec.json.Decoder(_Entry).decode_lines(table):
        key, value = Key(entry.resource, entry.namespace, entry.name), bytes(entry.value)
        record = get(key)
        if record is None:
            missing.append(Put(key, Draft(*_halves(_filled(value, new_uid().encode(), now.encode()))), 0))
        elif not _is_as_created(record, value):
            changed.add(key)
    return FirstRecords(missing, frozenset(changed))


def _filled(value: bytes, uid: bytes, time: bytes) -> bytes:
    return value.replace(UID.encode(), uid).replace(TIME.encode(), time)


def _halves(value: bytes) -> tuple[bytes, bytes]:
    """An encoded object before and after its revision."""
    start = value.index(_MARK) + len(_MARK)
    return value[:start], value[value.index(b'"', start) :]


def _is_as_created(record: Record, value: bytes) -> bool:
    stored = b"".join(_halves(record.value))
    uid = _after(stored, b'"uid":"', len(UID))
    time = _after(stored, b'"creationTimestamp":"', len(TIME))
    return stored == _filled(value, uid, time)


def _after(value: bytes, mark: bytes, size: int) -> bytes:
    start = value.find(mark) + len(mark)
    return value[start : start + size]


def entry_of(record: Record) -> bytes:
    """The line of a record in the table."""
    return encode(_Entry(*record.key, msgspec.Raw(b"".join(_halves(record.value))))) + b"\n"
