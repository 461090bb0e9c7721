"""Where a webhook may be: on the public network, and elsewhere only where the owner of this server says so.

Whoever may register a webhook could otherwise have the server call what only the server can reach: its own machine, its
neighbours, the cloud's metadata service. What a URL shows is checked when it is given, and `is_public` is asked of the
very address that a connection goes to, so neither a name that changes its mind nor a URL that two readers read
differently gains anything. Redirects are not followed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

ALLOW_PRIVATE = "HOMEOSTAT_HOOKS_ALLOW_PRIVATE"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class TargetError(ValueError):
    """No webhook may be there; the text says why and never shows the URL's credentials."""


def allows_private(environment: Mapping[str, str]) -> bool:
    return environment.get(ALLOW_PRIVATE, "") == "1"


def is_public(address: str) -> bool:
    """Whether anybody on the internet could reach it; an IPv6 address that stands for an IPv4 one is that one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast for each in _meant(found))


def _meant(address: _Address) -> list[_Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    inside: list[_Address] = [address]
    if address.sixtofour is not None:
        inside.append(address.sixtofour)
    if address.teredo is not None:
        inside.extend(address.teredo)
    return inside


def check_target(url: str, *, is_private_allowed: bool) -> None:
    """What can be said of a URL without asking anybody; `TargetError` where it is no good."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise TargetError("the URL cannot be read") from error
    if parts.scheme not in ("http", "https") or not host:
        raise TargetError("the URL must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise TargetError("the URL must not hold credentials: everybody who may see webhooks would see them")
    if any(ord(each) <= 32 or ord(each) == 127 for each in url):
        raise TargetError("the URL has a character that cannot be sent")
    if not is_private_allowed and (_is_address(host) or _is_local_name(host)) and not is_public(host):
        raise refused(host)


def refused(host: str) -> TargetError:
    return TargetError(f'"{host}" is not on the public network; {ALLOW_PRIVATE}=1 in the environment allows that')


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        # 127.1 and 2130706433 are addresses to the C library.
        return host.replace(".", "").isdigit() or host.startswith("0x")
    return True


def _is_local_name(host: str) -> bool:
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")
