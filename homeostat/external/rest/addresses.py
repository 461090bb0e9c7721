"""Addresses at which a cloud tells a machine its own credentials. Pure.

Whoever declares a resource says where the operator calls, and sees what it was answered with; the credentials of the
operator's machine are not theirs. `is_elsewhere` is asked of the very address that a connection goes to.
"""

from __future__ import annotations

import ipaddress
from typing import Final

_SERVICES: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("169.254.0.0/16", "100.100.100.200/32", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128")
)
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def is_elsewhere(address: str) -> bool:
    """Whether it is none of them; an IPv6 address that stands for an IPv4 one is that one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        elif found in _NAT64:
            found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return not any(found in each for each in _SERVICES)
