"""How many resources are in each phase, and which failed last: counted as resources change, not for each page.

    await counts.complete()
    counts.of_types()

The first `complete` counts all resources of the index, a slice in a turn of the event loop. From then on the index
delivers each change, so a page costs what it shows, also with 10,000 resources.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from typing import Final, NamedTuple

from homeostat.objects.conditions import READY, find
from homeostat.operators.actions.api import DEGRADED, ResourceStatus
from homeostat.web.actions.index.changes import IndexedResource, ResourceChange
from homeostat.web.actions.index.entry import phase_of
from homeostat.web.actions.index.index import ResourceIndex
from homeostat.web.kit.walks import Walks

PHASES: Final = ("failed", "reconciling", "pending", "deleting", "ready")
"""In the order in which pages show them."""


class Failure(NamedTuple):
    """A failed resource, and since when it fails: a retry that fails again does not change that."""

    since: str
    number: int
    resource: IndexedResource


class _Group(NamedTuple):
    """Resources are counted by kind, version and phase. All of one kind and version are of one type."""

    kind: str
    version: str
    phase: str


class PhaseCounts:
    def __init__(self, index: ResourceIndex, walks: Walks) -> None:
        self._index, self._walks = index, walks
        self._groups: dict[str, _Group] = {}
        self._counts: Counter[_Group] = Counter()
        self._samples: dict[tuple[str, str], IndexedResource] = {}
        self._failed: dict[str, Failure] = {}
        self._paused: dict[str, IndexedResource] = {}
        self._in_progress: dict[str, IndexedResource] = {}
        self._is_subscribed = self._is_complete = False
        self._counting = asyncio.Lock()
        self._changes = 0

    async def complete(self) -> None:
        """Returns when all resources are counted. Before that the counts are too low."""
        if self._is_complete:
            return
        async with self._counting:
            if not self._is_subscribed:
                self._is_subscribed = True
                self._index.subscribe(self._on_change)
            if not self._is_complete:
                async for _ in self._walks.over(self._add_all()):
                    pass
                self._is_complete = True

    @property
    def changes(self) -> int:
        """The number of changes so far. While it stays the same, so do all resources."""
        return self._changes

    def phase(self, resource: IndexedResource) -> str:
        found = self._groups.get(resource.entry.metadata.uid)
        return found.phase if found is not None else phase_of(resource.entry, resource.entry.read_phase())

    def of_types(self) -> dict[str, Counter[str]]:
        """The number of resources by phase, for each type by its uid; types without resources are absent."""
        types: dict[str, Counter[str]] = {}
        for group, count in self._counts.items():
            found = self._index.type_of(self._samples[group.kind, group.version])
            if found is not None and count:
                types.setdefault(found.metadata.uid, Counter())[group.phase] += count
        return types

    def failed_longest(self, most: int, readable: frozenset[str]) -> list[Failure]:
        """Those of these types, the one that fails longest first."""
        return nsmallest(most, (each for each in self._failed.values() if self._is_among(each.resource, readable)))

    def paused(self, readable: frozenset[str]) -> Counter[str]:
        """How many resources of these types are paused, by phase."""
        return Counter(self.phase(each) for each in self._paused.values() if self._is_among(each, readable))

    def paused_first(self, most: int, readable: frozenset[str]) -> list[IndexedResource]:
        """Some of them, by name."""
        found = (each for each in self._paused.values() if self._is_among(each, readable))
        return nsmallest(most, found, key=lambda each: each.entry.metadata.name)

    def in_progress(self) -> list[IndexedResource]:
        """Those that are being reconciled or deleted."""
        return list(self._in_progress.values())

    def _is_among(self, resource: IndexedResource, readable: frozenset[str]) -> bool:
        found = self._index.type_of(resource)
        return found is not None and found.metadata.uid in readable

    def _add_all(self) -> Iterator[None]:
        for resource in self._index.newest():
            # Nothing is awaited between reading and counting a resource, so no change is undone.
            self._add(resource)
            yield

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
        if entry.is_paused:
            self._paused[uid] = resource
        if group.phase in ("reconciling", "deleting"):
            self._in_progress[uid] = resource
        if group.phase == "failed":
            self._failed[uid] = Failure(_failing_since(entry.read_status()), entry.number, resource)

    def _remove(self, uid: str) -> None:
        group = self._groups.pop(uid, None)
        if group is not None:
            self._counts[group] -= 1
            self._failed.pop(uid, None)
            self._paused.pop(uid, None)
            self._in_progress.pop(uid, None)


def _failing_since(status: ResourceStatus) -> str:
    """Each retry changes Ready; Degraded stays True from the first failure on."""
    found = find(status.conditions, DEGRADED)
    found = found if found is not None and found.status == "True" else find(status.conditions, READY)
    return (found.last_transition_time if found is not None else "") or status.last_run or ""
