"""Chooses the proxy of an outbound request from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or from settings. Pure.

The lower-case variable takes precedence over the upper-case one, as in curl. Loopback is always reached directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """Proxy URLs by the scheme of the request, empty for none. They may contain a password, so `repr` hides them."""

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    bypassed: tuple[str, ...] = ()
    """Entries of NO_PROXY: a domain with all below it, an address, a network, or `*`."""

    def proxy_for(self, scheme: str, host: str) -> str:
        proxy = {"http": self.http, "https": self.https}.get(scheme, "")
        if not proxy or _is_loopback(host) or any(_covers(each, host.lower()) for each in self.bypassed):
            return ""
        return proxy if "://" in proxy else f"http://{proxy}"


def read_proxies(environment: Mapping[str, str]) -> Proxies:
    def value(name: str) -> str:
        return environment.get(name) or environment.get(name.upper()) or ""

    bypassed = tuple(entry for each in value("no_proxy").split(",") if (entry := each.strip()))
    return Proxies(http=value("http_proxy"), https=value("https_proxy"), bypassed=bypassed)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _covers(entry: str, host: str) -> bool:
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        domain = entry.lstrip("*").lstrip(".").lower()
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
