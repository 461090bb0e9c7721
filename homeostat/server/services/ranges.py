"""The ranges that cluster addresses and node ports are taken from. Pure.

The lower part of a range is left to those who choose a value themselves, as long as the upper part has free ones.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

DEFAULT_CIDR: Final = "10.0.0.0/16"
FIRST_PORT: Final = 30000
LAST_PORT: Final = 32767
_CHOSEN_PORTS: Final = 86
_FEWEST, _MOST = 16, 256
_SMALLEST: Final = 8
_LONGEST_BITS: Final = 20
"""More addresses of an IPv6 range are not used."""

Value = str | int
"""An address, or a node port."""
IsFree = Callable[[Value], bool]
Pick = Callable[[int], int]
"""A random number below another one."""


class AddressRange:
    def __init__(self, cidr: str) -> None:
        """`ValueError` if it is none, or has no room for Services."""
        network: IPv4Network | IPv6Network = ip_network(cidr)
        if network.num_addresses < _SMALLEST:
            raise ValueError(f"{cidr} has {network.num_addresses} addresses; at least {_SMALLEST} are required")
        self._base = network.network_address
        self.family = f"IPv{network.version}"
        # Neither the network's own address nor its last one, which is for broadcasts.
        self._count = min(network.num_addresses, 2**_LONGEST_BITS) - 2
        self._network = network

    @property
    def first(self) -> str:
        return str(self._base + 1)

    def contains(self, address: str) -> bool:
        found = ip_address(address)
        last = self._network.broadcast_address
        return found in self._network and found not in (self._base, last)

    def free(self, is_free: IsFree, pick: Pick) -> str | None:
        chosen = min(max(_FEWEST, self._count // _FEWEST), _MOST)
        number = _free(self._count, chosen, lambda at: is_free(str(self._base + 1 + at)), pick)
        return None if number is None else str(self._base + 1 + number)


def free_port(is_free: IsFree, pick: Pick) -> int | None:
    number = _free(LAST_PORT - FIRST_PORT + 1, _CHOSEN_PORTS, lambda at: is_free(FIRST_PORT + at), pick)
    return None if number is None else FIRST_PORT + number


def _free(count: int, chosen: int, is_free: Callable[[int], bool], pick: Pick) -> int | None:
    """A free number below `count`; one below `chosen` only if there is no other."""
    chosen = min(chosen, count - 1)
    for first, length in ((chosen, count - chosen), (0, chosen)):
        start = pick(length) if length else 0
        for at in range(length):
            number = first + (start + at) % length
            if is_free(number):
                return number
    return None
