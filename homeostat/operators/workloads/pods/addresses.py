"""Addresses of Pods in 10.128.0.0/9: each is used by one Pod at a time."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address
from typing import Final

_FIRST: Final = int(IPv4Address("10.128.0.1"))
_COUNT: Final = (1 << 23) - 2


class Addresses:
    def __init__(self) -> None:
        self._used: set[int] = set()
        self._next = 0

    def take(self) -> str:
        """A free address; nine million Pods are more than a plane holds."""
        for _ in range(_COUNT):
            number = _FIRST + self._next
            self._next = (self._next + 1) % _COUNT
            if number not in self._used:
                self._used.add(number)
                return str(IPv4Address(number))
        raise RuntimeError("all addresses of simulated Pods are in use")

    def note(self, address: str) -> None:
        if address.startswith("10."):
            self._used.add(_number(address))

    def free(self, address: str) -> None:
        if address:
            self._used.discard(_number(address))


def _number(address: str) -> int:
    try:
        return int(IPv4Address(address))
    except AddressValueError:
        return 0
