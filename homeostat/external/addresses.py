"""The rule for addresses of outbound connections. Pure.

Whoever declares a URL sees the response, so the operator must not send requests on their behalf to services that only
its machine can reach. Link-local addresses and the metadata services of clouds, which hand out credentials, are always
refused. Loopback and private networks are a setting. `refusal_of` judges the very address that a socket connects to,
after DNS resolution: neither a name that resolves to another address the second time nor another spelling evades it.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from homeostat.objects.memory.cache import cached

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_SERVICES: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        "169.254.0.0/16",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "fe80::/10",
        "192.0.0.192/32",
        "fd00:ec2::23/128",
        "fd00:ec2::254/128",
        "fd00:c1::a9fe:a9fe/128",
        "fd20:ce::254/128",
    )
)
_SERVICE_NAMES: Final = frozenset({"metadata.google.internal", "metadata.goog"})
_unsendable = re.compile(r"[\x00-\x20\x7f]").search
_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


class RefusedAddressError(OSError):
    """Raised instead of connecting to an address that the rule refuses."""


class UrlError(ValueError):
    """The URL may not be called; the text never shows its credentials."""


class PrivateUrlError(UrlError):
    """The URL names a host that is not on the public network."""


def refusal_of(address: str, *, allows_private: bool) -> str:
    """Why the address may not be called; empty if it may."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "not an IP address"
    embedded = _embedded(found)
    if any(each in service for each in embedded for service in _SERVICES):
        return "a link-local address or a cloud's metadata service"
    if not allows_private and not all(each.is_global and not each.is_multicast for each in embedded):
        return "not on the public network"
    return ""


def check_url(url: str, *, allows_private: bool) -> None:
    """Checks a URL before anything is resolved; host names are judged when they are resolved. `UrlError` says why."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise UrlError("the URL is invalid") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UrlError("the URL must begin with http:// or https:// and name a host")
    if _unsendable(url):
        raise UrlError("the URL contains an invalid character")
    why, is_private = _judged(host)
    if why:
        raise UrlError(f'"{host}" is {why}, which is never called')
    if is_private and not allows_private:
        raise PrivateUrlError(f'"{host}" is not on the public network')


@cached(1024)
def _judged(host: str) -> tuple[str, bool]:
    """Why a host is always refused (empty if it is not), and whether it is private, judged by its spelling alone."""
    if host.lower() in _SERVICE_NAMES:
        return "a cloud's metadata service", False
    literal = _literal(host)
    if literal is None:
        return "", _is_local_name(host)
    return refusal_of(literal, allows_private=True), bool(refusal_of(literal, allows_private=False))


def _embedded(address: _Address) -> list[_Address]:
    """The address itself, or the IPv4 addresses that an IPv6 address embeds."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if any(address in each for each in _NAT64):
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    embedded: list[_Address] = [address]
    if address.sixtofour is not None:
        embedded.append(address.sixtofour)
    if address.teredo is not None:
        embedded.extend(address.teredo)
    return embedded


def _literal(host: str) -> str | None:
    """The address that a host spells; 127.1, 0x7f000001 and 2130706433 are addresses to the C library."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return _legacy_literal(host)


def _legacy_literal(host: str) -> str | None:
    parts = host.lower().split(".")
    if len(parts) > 4 or not all(parts):
        return None
    try:
        numbers = [_number(each) for each in parts]
    except ValueError:
        return None
    *head, last = numbers
    room = 8 * (4 - len(head))
    if any(each > 255 for each in head) or last >= 1 << room:
        return None
    value = last
    for at, each in enumerate(head):
        value |= each << (24 - 8 * at)
    return str(ipaddress.IPv4Address(value))


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    if not text.isascii() or not text.isdigit():
        raise ValueError(text)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)


def _is_local_name(host: str) -> bool:
    name = host.lower()
    return name == "localhost" or name.endswith(".localhost")
