"""Limits how often a password can be tried.

A failed attempt is charged to three budgets, and an attempt needs all three: a small one for the user from this
address, and larger ones for the address and for the user from all addresses. They refill with time. So somebody who
guesses soon has to wait, and must guess from many addresses before the user has to wait as well.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec


class Budget(msgspec.Struct, frozen=True):
    tries: int
    """Attempts in a row, when the budget is full."""
    seconds: float
    """Until one more attempt is added."""


PAIR = Budget(5, 30.0)
ADDRESS = Budget(50, 5.0)
USER = Budget(50, 10.0)
_MOST_KEPT = 20_000

Key = tuple[str, str]


class Throttle:
    """`clock` counts seconds. At most `most_kept` budgets are remembered; the least recently used are dropped first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, most_kept: int = _MOST_KEPT) -> None:
        self._clock, self._most_kept = clock, most_kept
        self._spent: OrderedDict[Key, tuple[float, float]] = OrderedDict()

    def take(self, username: str, address: str) -> int:
        """Whole seconds to wait; 0 if the attempt is allowed. It counts as failed until `succeeded` is called, so
        parallel attempts do not evade the limit.
        """
        now, budgets = self._clock(), _budgets(username, address)
        if wait_s := max(self._wait_s(key, budget, now) for key, budget in budgets):
            return math.ceil(wait_s)
        for key, budget in budgets:
            self._spent[key] = (self._left_spent(key, budget, now) + 1, now)
            self._spent.move_to_end(key)
        while len(self._spent) > self._most_kept:
            self._spent.popitem(last=False)
        return 0

    def succeeded(self, username: str, address: str) -> None:
        address = _network(address)
        self._spent.pop((username, address), None)
        for key in (("", address), (username, "")):
            if key in self._spent:
                spent, since = self._spent[key]
                self._spent[key] = (max(spent - 1, 0.0), since)

    def give_back(self, username: str, address: str) -> None:
        """For an attempt that was refused before its password was compared."""
        for key, _budget in _budgets(username, address):
            if key in self._spent:
                spent, since = self._spent[key]
                self._spent[key] = (max(spent - 1, 0.0), since)

    def _wait_s(self, key: Key, budget: Budget, now: float) -> float:
        over = self._left_spent(key, budget, now) - (budget.tries - 1)
        return max(over, 0.0) * budget.seconds

    def _left_spent(self, key: Key, budget: Budget, now: float) -> float:
        spent, since = self._spent.get(key, (0.0, now))
        return max(spent - (now - since) / budget.seconds, 0.0)


def _network(address: str) -> str:
    """An IPv6 address stands for its /64: whoever has one address of a network has all of them."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


def _budgets(username: str, address: str) -> tuple[tuple[Key, Budget], ...]:
    address = _network(address)
    return ((username, address), PAIR), (("", address), ADDRESS), ((username, ""), USER)
