"""How many resources are in each phase, and which failed last: counted as resources change, not for each page.

The first use counts all resources of the index. From then on the index delivers each change, so a page costs what it
shows, also with 10,000 resources.
"""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import Final, NamedTuple

from homeostat.web.actions.index.changes import IndexedResource, ResourceChange
from homeostat.web.actions.index.entry import phase_of
from homeostat.web.actions.index.index import ResourceIndex

PHASES: Final = ("failed", "reconciling", "pending", "deleting", "ready")
"""In the order in which pages show them."""


class Failure(NamedTuple):
    """A failed resource. `moment` is the time of its last run."""

    moment: str
    number: int
    resource: IndexedResource


class _Group(NamedTuple):
    """Resources are counted by kind, version and phase. All of one kind and version are of one type."""

    kind: str
    version: str
    phase: str


class PhaseCounts:
    def __init__(self, index: ResourceIndex) -> None:
        self._index = index
        self._groups: dict[str, _Group] = {}
        self._counts: Counter[_Group] = Counter()
        self._samples: dict[tuple[str, str], IndexedResource] = {}
        self._failed: dict[str, Failure] = {}
        self._is_counting = False
        self._changes = 0

    @property
    def changes(self) -> int:
        """The number of changes so far. While it stays the same, so do all resources."""
        self._count_all()
        return self._changes

    def phase(self, resource: IndexedResource) -> str:
        self._count_all()
        found = self._groups.get(resource.entry.metadata.uid)
        return found.phase if found is not None else phase_of(resource.entry, resource.entry.read_phase())

    def of_types(self) -> dict[str, Counter[str]]:
        """The number of resources by phase, for each type by its uid; types without resources are absent."""
        self._count_all()
        types: dict[str, Counter[str]] = {}
        for group, count in self._counts.items():
            found = self._index.type_of(self._samples[group.kind, group.version])
            if found is not None and count:
                types.setdefault(found.metadata.uid, Counter())[group.phase] += count
        return types

    def failed_last(self, most: int, readable: frozenset[str]) -> list[Failure]:
        """The most recent failures of resources of these types, newest first."""
        self._count_all()
        return nlargest(most, (each for each in self._failed.values() if self._is_among(each.resource, readable)))

    def _is_among(self, resource: IndexedResource, readable: frozenset[str]) -> bool:
        found = self._index.type_of(resource)
        return found is not None and found.metadata.uid in readable

    def _count_all(self) -> None:
        if self._is_counting:
            return
        # Nothing is awaited in between, so no change is missed and none is counted twice.
        self._is_counting = True
        for resource in self._index.newest():
            self._add(resource)
        self._index.subscribe(self._on_change)

    def _on_change(self, change: ResourceChange) -> None:
        self._changes += 1
        if change.old is not None:
            self._remove(change.old.entry.metadata.uid)
        if change.new is not None and change.new.entry.number:
            self._add(change.new)

    def _add(self, resource: IndexedResource) -> None:
        entry, uid = resource.entry, resource.entry.metadata.uid
        group = _Group(resource.kind.kind, entry.metadata.labels.version, phase_of(entry, entry.read_phase()))
        self._remove(uid)
        self._groups[uid] = group
        self._counts[group] += 1
        self._samples.setdefault(group[:2], resource)
        if group.phase == "failed":
            self._failed[uid] = Failure(entry.read_status().last_run or "", entry.number, resource)

    def _remove(self, uid: str) -> None:
        group = self._groups.pop(uid, None)
        if group is not None:
            self._counts[group] -= 1
            self._failed.pop(uid, None)
