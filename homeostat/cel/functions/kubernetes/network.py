"""IP addresses and CIDR networks. Zones and IPv4 addresses mapped into IPv6 are refused, as in Kubernetes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from homeostat.cel.errors import EvaluationError, shown
from homeostat.cel.functions.kubernetes.parsing import parse_cost, parses
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import Opaque

Address = IPv4Address | IPv6Address
_LONGEST = 128
"""No address is longer. Of longer texts, the beginning is none either."""
_PREFIX = re.compile(r"(?:0|[1-9]\d{0,2})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ip(Opaque):
    address: Address
    cel_type_name = "net.IP"

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr(Opaque):
    """A network as it was written: bits after the prefix are kept until `masked`."""

    address: Address
    prefix: int
    cel_type_name = "net.CIDR"

    def masked(self) -> Cidr:
        return Cidr(ip_network((self.address, self.prefix), strict=False).network_address, self.prefix)

    def __str__(self) -> str:
        return f"{self.address}/{self.prefix}"


def parse_ip(text: str) -> Ip:
    try:
        address = ip_address(text[: _LONGEST + 1])
    except ValueError as error:
        why = f"parse error during conversion from string: {error}"
        raise EvaluationError(f'IP Address "{shown(text)}" {why}') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def parse_cidr(text: str) -> Cidr:
    host, slash, prefix = text.rpartition("/")
    if not slash or not _PREFIX.match(prefix):
        raise EvaluationError(
            f'network address parse error during conversion from string: "{shown(text)}" has no prefix length'
        )
    address = parse_ip(host).address
    if int(prefix) > address.max_prefixlen:
        raise EvaluationError("network address parse error during conversion from string: prefix length out of range")
    return Cidr(address, int(prefix))


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return ip.address in ip_network((cidr.address, cidr.prefix), strict=False)


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return cidr.prefix <= other.prefix and _contains_ip(cidr, Ip(other.address))


def _is_link_local_multicast(ip: Ip) -> bool:
    packed = ip.address.packed
    return packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _is_link_local_unicast(ip: Ip) -> bool:
    packed = ip.address.packed
    return packed[:2] == b"\xa9\xfe" if len(packed) == 4 else packed[0] == 0xFE and packed[1] & 0xC0 == 0x80


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    return not (
        address.packed == b"\xff\xff\xff\xff"
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or _is_link_local_unicast(ip)
    )


NETWORK: tuple[Overload, ...] = (
    function("ip(string) -> net.IP", parse_ip, parse_cost),
    function("isIP(string) -> bool", parses(parse_ip), parse_cost),
    function("ip.isCanonical(string) -> bool", lambda text: str(parse_ip(text)) == text, parse_cost),
    function("string(net.IP) -> string", str),
    member("net.IP.family() -> int", lambda ip: ip.address.version),
    member("net.IP.isUnspecified() -> bool", lambda ip: ip.address.is_unspecified),
    member("net.IP.isLoopback() -> bool", lambda ip: ip.address.is_loopback),
    member("net.IP.isLinkLocalMulticast() -> bool", _is_link_local_multicast),
    member("net.IP.isLinkLocalUnicast() -> bool", _is_link_local_unicast),
    member("net.IP.isGlobalUnicast() -> bool", _is_global_unicast),
    function("cidr(string) -> net.CIDR", parse_cidr, parse_cost),
    function("isCIDR(string) -> bool", parses(parse_cidr), parse_cost),
    function("string(net.CIDR) -> string", str),
    member("net.CIDR.containsIP(net.IP) -> bool", _contains_ip),
    member("net.CIDR.containsIP(string) -> bool", lambda cidr, text: _contains_ip(cidr, parse_ip(text))),
    member("net.CIDR.containsCIDR(net.CIDR) -> bool", _contains_cidr),
    member("net.CIDR.containsCIDR(string) -> bool", lambda cidr, text: _contains_cidr(cidr, parse_cidr(text))),
    member("net.CIDR.ip() -> net.IP", lambda cidr: Ip(cidr.address)),
    member("net.CIDR.masked() -> net.CIDR", Cidr.masked),
    member("net.CIDR.prefixLength() -> int", lambda cidr: cidr.prefix),
)
