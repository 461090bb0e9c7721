"""In what phase each resource is, and which failed last: counted as things change, and not for each page.

The first look goes through the whole book; from then on every change is told, so a page of an estate of 10,000 costs
no more than what it shows.
"""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import Final, NamedTuple

from homeostat.web.actions.index.changes import IndexedResource, ResourceChange
from homeostat.web.actions.index.entry import phase_of
from homeostat.web.actions.index.index import ResourceIndex

PHASES: Final = ("failed", "reconciling", "pending", "deleting", "ready")
"""In the order in which people want to see them."""


class Failure(NamedTuple):
    """`moment` is when it was tried last."""

    moment: str
    number: int
    held: IndexedResource


class _Place(NamedTuple):
    """What resources are counted by. All of one kind and version are of one type."""

    kind: str
    version: str
    phase: str


class Census:
    def __init__(self, index: ResourceIndex) -> None:
        self._index = index
        self._places: dict[str, _Place] = {}
        self._counts: Counter[_Place] = Counter()
        self._samples: dict[tuple[str, str], IndexedResource] = {}
        self._failed: dict[str, Failure] = {}
        self._is_taken = False
        self._changes = 0

    @property
    def changes(self) -> int:
        """How many there were: while it stays the same, so do all resources."""
        self._take()
        return self._changes

    def phase(self, held: IndexedResource) -> str:
        self._take()
        found = self._places.get(held.entry.metadata.uid)
        return found.phase if found is not None else phase_of(held.entry, held.entry.read_phase())

    def of_types(self) -> dict[str, Counter[str]]:
        """How many resources are in which phase, by the uid of the type; types that nobody uses are not there."""
        self._take()
        types: dict[str, Counter[str]] = {}
        for place, count in self._counts.items():
            found = self._index.type_of(self._samples[place.kind, place.version])
            if found is not None and count:
                types.setdefault(found.metadata.uid, Counter())[place.phase] += count
        return types

    def failed_last(self, most: int, readable: frozenset[str]) -> list[Failure]:
        """Of the types with these uids, the newest first."""
        self._take()
        return nlargest(most, (each for each in self._failed.values() if self._is_among(each.held, readable)))

    def _is_among(self, held: IndexedResource, readable: frozenset[str]) -> bool:
        found = self._index.type_of(held)
        return found is not None and found.metadata.uid in readable

    def _take(self) -> None:
        if self._is_taken:
            return
        # Nothing is awaited in between, so no change is missed and none is counted twice.
        self._is_taken = True
        for held in self._index.newest():
            self._add(held)
        self._index.subscribe(self._note)

    def _note(self, change: ResourceChange) -> None:
        self._changes += 1
        if change.old is not None:
            self._remove(change.old.entry.metadata.uid)
        if change.new is not None and change.new.entry.number:
            self._add(change.new)

    def _add(self, held: IndexedResource) -> None:
        entry, uid = held.entry, held.entry.metadata.uid
        place = _Place(held.kind.kind, entry.metadata.labels.version, phase_of(entry, entry.read_phase()))
        self._remove(uid)
        self._places[uid] = place
        self._counts[place] += 1
        self._samples.setdefault(place[:2], held)
        if place.phase == "failed":
            self._failed[uid] = Failure(entry.read_status().last_run or "", entry.number, held)

    def _remove(self, uid: str) -> None:
        place = self._places.pop(uid, None)
        if place is not None:
            self._counts[place] -= 1
            self._failed.pop(uid, None)
