"""How many Pods of a group are on each Node, for what Pods want of the Pods around them.

A group is counted when it is first asked for, and then with each Pod that is placed or removed, so that placing a Pod
does not look at all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from homeostat.objects.selectors import LabelSelector

MOST_GROUPS: Final = 256
"""More than that, and the one that was asked for first is counted again when it is asked for again."""


class Group(NamedTuple):
    """Pods by their labels, of some namespaces or, if there are none, of all."""

    namespaces: frozenset[str]
    selector: LabelSelector

    def includes(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (not self.namespaces or namespace in self.namespaces) and self.selector.matches(labels)


class Member(NamedTuple):
    """A Pod on a Node."""

    namespace: str
    labels: Mapping[str, str]
    node: str


class Tallies:
    def __init__(self) -> None:
        self._counts: dict[Group, Counter[str]] = {}

    def of(self, group: Group, members: Iterable[Member]) -> Counter[str]:
        """By Node. `members` are all Pods that are placed."""
        found = self._counts.get(group)
        if found is None:
            if len(self._counts) >= MOST_GROUPS:
                del self._counts[next(iter(self._counts))]
            matching = (each.node for each in members if group.includes(each.namespace, each.labels))
            found = self._counts[group] = Counter(matching)
        return found

    def note(self, member: Member, change: int) -> None:
        """A Pod was placed (1) or removed (-1)."""
        for group, counts in self._counts.items():
            if group.includes(member.namespace, member.labels):
                counts[member.node] += change
