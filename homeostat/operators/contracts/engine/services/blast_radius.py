"""The blast radius of a service: how many others require it, directly or transitively. Pure.

    reach = BlastRadius()
    reach.require("shop", {"ledger"})    # shop requires ledger
    reach.radius("ledger")               # 1

The set of each service is kept, as bits of an integer. A change makes only those stale that it can affect: the ones of
what its targets require. `refresh` computes them again, from the sets of their dependents, which are not stale.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from homeostat.operators.contracts.engine.services.components import components


class BlastRadius:
    """`spare` is the number of bits of services that are gone, before all are assigned again."""

    def __init__(self, *, spare: int = 1000) -> None:
        self._spare = spare
        self._requires: dict[str, frozenset[str]] = {}
        self._required_by: dict[str, set[str]] = {}
        self._bits: dict[str, int] = {}
        """Of services that require something."""
        self._reached: dict[str, int] = {}
        """The services that require each one, directly or transitively; perhaps itself, which does not count."""
        # With a service, all that it requires is stale, too. So marking can stop at a stale one.
        self._stale: set[str] = set()
        self._leaves: set[str] = set()
        """Not stale, require nothing, and are computed when they are asked for: most of them are no services at all."""

    def require(self, service: str, targets: Collection[str]) -> None:
        """Replace what the service requires."""
        old = self._requires.get(service, frozenset[str]())
        new: frozenset[str] = frozenset(each for each in targets if each != service)
        if old == new:
            return
        # What depends on an edge is marked while the edge is there.
        self._mark(old - new)
        for each in old - new:
            self._required_by[each].discard(service)
            if not self._required_by[each]:
                del self._required_by[each]
        for each in new - old:
            self._required_by.setdefault(each, set()).add(service)
        if new:
            self._requires[service] = new
            if service in self._leaves:
                self._leaves.discard(service)
                self._stale.add(service)
        else:
            self._requires.pop(service, None)
        self._mark(new - old)

    def radius(self, name: str) -> int:
        if name in self._stale:
            # Not kept: see `_stale`.
            return len(self.affected(name))
        if name in self._leaves:
            self._leaves.discard(name)
            self._compute([name])
        return self._count(name)

    def affected(self, name: str) -> set[str]:
        """The services that require this one, directly or transitively."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = self._required_by.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        found.discard(name)
        return found

    def steps_to(self, name: str) -> dict[str, int]:
        """As `affected`, the nearest first and otherwise by name, each with the number of steps to this one."""
        found: dict[str, int] = {}
        level, steps = {name}, 0
        while level:
            steps += 1
            level = {user for each in level for user in self._required_by.get(each, ())} - found.keys() - {name}
            found |= dict.fromkeys(sorted(level), steps)
        return found

    def refresh(self) -> set[str]:
        """Compute all stale radii; the names of those that changed, and of those that may have and require nothing."""
        is_sparse = len(self._bits) > 2 * len(self._requires) + self._spare
        if is_sparse:
            self._mark([*self._required_by, *self._reached])
        stale, self._stale = self._stale, set()
        leaves = stale - self._requires.keys()
        self._leaves -= leaves
        self._leaves |= leaves & self._required_by.keys()
        for each in leaves & self._reached.keys():
            del self._reached[each]
        stale -= leaves
        before = {each: self._count(each) for each in stale}
        for each in stale:
            self._reached.pop(each, None)
        if is_sparse:
            self._bits.clear()
        # The members of a cycle are all stale if one is.
        for component in components({each: self._required_by.get(each, _NOBODY) & stale for each in stale}):
            self._compute(component)
        return leaves | {each for each in stale if self._count(each) != before[each]}

    def _compute(self, component: list[str]) -> None:
        """The members of a cycle affect the same services, each other included."""
        found = 0
        # Each once: where all require all, they have as many edges as there are pairs of them.
        users = set(component).union(*(self._required_by.get(name, _NOBODY) for name in component))
        for each in users:
            found |= self._reached.get(each, 0) | self._bit(each)
        self._reached |= dict.fromkeys(component, found)

    def _count(self, name: str) -> int:
        found, at = self._reached.get(name, 0), self._bits.get(name)
        return found.bit_count() - (found >> at & 1 if at is not None else 0)

    def _bit(self, name: str) -> int:
        return 1 << self._bits.setdefault(name, len(self._bits)) if name in self._requires else 0

    def _mark(self, names: Iterable[str]) -> None:
        waiting = [each for each in names if each not in self._stale]
        while waiting:
            name = waiting.pop()
            if name not in self._stale:
                self._stale.add(name)
                waiting += self._requires.get(name, frozenset()) - self._stale


_NOBODY: Final[frozenset[str]] = frozenset()
