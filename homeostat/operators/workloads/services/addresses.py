"""Cluster addresses of Services: each has one of its own. Pure."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network
from typing import Final

from homeostat.operators.workloads.api import Workload

Key = tuple[str, str]
"""Namespace and name."""
_RANGE: Final = IPv4Network("10.96.0.0/16")
_FIRST: Final = 10
"""The first ones are often given by hand: to the API server, to DNS."""


def wants_address(service: Workload) -> bool:
    spec = service.spec
    return not service.metadata.is_terminating and not spec.get("clusterIP") and spec.get("type") != "ExternalName"


class ClusterAddresses:
    def __init__(self) -> None:
        self._by_key: dict[Key, str] = {}
        self._used: Counter[str] = Counter()
        self._next = 0

    def note(self, key: Key, address: str) -> None:
        """The address of a Service as the watch shows it; empty if it has none any more."""
        former = self._by_key.pop(key, "")
        self._used[former] -= 1
        if self._used[former] <= 0:
            del self._used[former]
        if address and address != "None":
            self._by_key[key] = address
            self._used[address] += 1

    def take(self, key: Key) -> str:
        """A free one, which is the Service's from now on; empty if there is none left."""
        room = _RANGE.num_addresses - _FIRST - 1
        for _ in range(room):
            found = str(_RANGE[_FIRST + self._next % room])
            self._next += 1
            if found not in self._used:
                self.note(key, found)
                return found
        return ""
