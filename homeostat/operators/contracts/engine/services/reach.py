"""How many services a service takes down with it: those that require it, directly or transitively. Pure.

    reach = Reach()
    reach.require("shop", {"ledger"})        # shop requires ledger
    reach.radius("ledger")               # 1

The radii are kept, and a change makes only those stale that it can affect: the ones of what its targets require. All
stale ones are computed together when a list is made, by sets of bits: ten thousand services take milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from homeostat.operators.contracts.engine.services.components import components

_FEW: Final = 64
"""Up to so many stale radii are computed one by one."""


class Reach:
    def __init__(self) -> None:
        self._requires: dict[str, frozenset[str]] = {}
        self._required_by: dict[str, set[str]] = {}
        self._radii: dict[str, int] = {}
        # With a service, all that it requires is stale, too. So marking can stop at a stale one.
        self._stale: set[str] = set()

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
        else:
            self._requires.pop(service, None)
        self._mark(new - old)

    def radius(self, name: str) -> int:
        if name in self._stale:
            # Not kept: see `_stale`.
            return len(self.affected(name))
        return self._radii.get(name, 0)

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

    def refresh(self) -> set[str]:
        """Compute all stale radii; the names of those that changed."""
        stale, self._stale = self._stale, set()
        radii = self._all_radii() if len(stale) > _FEW else {each: len(self.affected(each)) for each in stale}
        changed = {each for each in stale if radii.get(each, 0) != self._radii.get(each, 0)}
        for each in changed:
            if radii.get(each, 0):
                self._radii[each] = radii[each]
            else:
                del self._radii[each]
        return changed

    def _mark(self, names: Iterable[str]) -> None:
        waiting = [each for each in names if each not in self._stale]
        while waiting:
            name = waiting.pop()
            if name not in self._stale:
                self._stale.add(name)
                waiting += self._requires.get(name, frozenset()) - self._stale

    def _all_radii(self) -> dict[str, int]:
        """A cycle is one component: its members affect the same services, each other included."""
        bits = {name: 1 << at for at, name in enumerate(self._requires)}
        reached: dict[str, int] = {}
        radii: dict[str, int] = {}
        for component in components(self._required_by):
            found = 0
            for name in component:
                found |= bits.get(name, 0)
                for each in self._required_by.get(name, ()):
                    found |= reached.get(each, 0)
            for name in component:
                reached[name] = found
                radii[name] = (found & ~bits.get(name, 0)).bit_count()
        return radii
