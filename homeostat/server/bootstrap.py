"""The objects that a plane creates at its first start, as they are stored. Pure, but for reading the package.

They are namespaces, priority classes, objects of flow control, API services, and the default roles and bindings of
Kubernetes. The table `data/first_objects.jsonl` has each as a request would have stored it, except for its uid and its
times; `tools/derive_first_objects.py` makes it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator

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


def first_records(exists: Callable[[Key], bool], *, now: str, new_uid: Callable[[], str]) -> Iterator[Put]:
    """The creations of those that do not exist, in an order in which each finds its namespace."""
    table = pkgutil.get_data(__package__, TABLE)
    assert table is not None
    for entry in msgspec.json.Decoder(_Entry).decode_lines(table):
        key = Key(entry.resource, entry.namespace, entry.name)
        if exists(key):
            continue
        value = bytes(entry.value).replace(UID.encode(), new_uid().encode()).replace(TIME.encode(), now.encode())
        start = value.index(_MARK) + len(_MARK)
        yield Put(key, Draft(value[:start], value[value.index(b'"', start) :]), 0)


def entry_of(record: Record) -> bytes:
    """The line of a record in the table."""
    start = record.value.index(_MARK) + len(_MARK)
    value = b"%b%b" % (record.value[:start], record.value[record.value.index(b'"', start) :])
    return encode(_Entry(*record.key, msgspec.Raw(value))) + b"\n"
