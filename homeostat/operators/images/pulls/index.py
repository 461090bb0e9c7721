"""The proposals of all ImageUpdates by group. Only those of objects that changed are read again: a status is large, and
every pass asks.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.pulls.proposal import Key, OpenProposal


class ProposalIndex:
    """`read` gives the proposals of the ImageUpdate with this namespace and name."""

    def __init__(self, read: Callable[[str, str], list[OpenProposal]]) -> None:
        self._read = read
        self._changed: set[Key] = set()
        self._found: dict[Key, list[OpenProposal]] = {}
        self._groups: dict[Group, list[OpenProposal]] = {}

    def mark(self, namespace: str, name: str) -> None:
        """The object, its status or its workload has changed."""
        self._changed.add((namespace, name))

    def by_group(self) -> dict[Group, list[OpenProposal]]:
        changed, self._changed = self._changed, set()
        is_same = True
        for key in changed:
            found, before = self._read(*key), self._found.pop(key, [])
            if found:
                self._found[key] = found
            is_same = is_same and found == before
        if not is_same:
            self._groups = {}
            for each in (proposal for found in self._found.values() for proposal in found):
                self._groups.setdefault(each.group, []).append(each)
        return self._groups
