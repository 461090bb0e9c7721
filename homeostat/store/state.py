"""The current records in memory: a dict for lookups, and a sorted list per resource for lists.

All containers share the key object of a record. The lists hold the records themselves, so selecting a scope is two
bisections and a slice, whatever its size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter

from homeostat.store.base import Event, Key, Record, Scope

_key = attrgetter("key")


class State:
    __slots__ = ("_changed", "_loaded", "_tables", "records")

    def __init__(self, records: Iterable[Record] = (), *, revision: int = 0) -> None:
        """Load records, sorted by key, of the state at `revision`."""
        self.records: dict[Key, Record] = {}
        self._tables: dict[str, list[Record]] = {}
        self._changed: dict[str, int] = {}
        self._loaded = revision
        for record in records:
            self.records[record.key] = record
            self._tables.setdefault(record.key.resource, []).append(record)

    def changed(self, resource: str) -> int:
        """A revision since which no record of the resource has changed."""
        return self._changed.get(resource, self._loaded)

    def resources(self) -> list[str]:
        return [resource for resource, table in self._tables.items() if table]

    def table(self, resource: str) -> list[Record]:
        return self._tables.get(resource, [])

    def span(self, scope: Scope, after: tuple[str, str] | None = None) -> tuple[int, int]:
        """The start and end, in the list of the resource, of the scope's records after `after`."""
        table = self.table(scope.resource)
        resource, namespace, name = scope
        start, stop = 0, len(table)
        if name:
            start = bisect_left(table, (resource, namespace, name), key=_key)
            stop = start + 1 if start < stop and table[start].key == Key(*scope) else start
        elif namespace:
            start = bisect_left(table, (resource, namespace), key=_key)
            stop = bisect_left(table, (resource, namespace + "\0"), start, key=_key)
        if after is not None:
            behind = bisect_left(table, (resource, after[0], after[1] + "\0"), start, stop, key=_key)
            start = max(start, behind)
        return start, stop

    def apply(self, event: Event) -> None:
        record = event.record
        key = record.key
        self._changed[key.resource] = record.revision
        if event.type == "DELETED":
            table = self._tables[key.resource]
            del table[bisect_left(table, key, key=_key)]
            del self.records[key]
            return
        table = self._tables.setdefault(key.resource, [])
        if event.type == "MODIFIED":
            table[bisect_left(table, key, key=_key)] = record
        elif not table or table[-1].key < key:
            table.append(record)
        else:
            table.insert(bisect_left(table, key, key=_key), record)
        self.records[key] = record
