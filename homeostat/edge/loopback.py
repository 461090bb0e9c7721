"""Checks that a request was meant for this machine, for servers that require no credentials.

A web page of another site can make a browser call a server on loopback. The page cannot choose the Host header freely,
and the browser sends the page's origin.
"""

from __future__ import annotations

import ipaddress
import re

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:]+)\]|([^:\[\]]+))(?::[0-9]*)?")


def host_is_loopback(host: str) -> bool:
    """Whether a Host header names this machine's loopback, so that it cannot be the host name of a web site."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1] or found[2]
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def origin_is_loopback(origin: str | None) -> bool:
    """Whether a request comes from no web page, or from a page of this machine."""
    return origin is None or host_is_loopback(origin.partition("://")[2])
