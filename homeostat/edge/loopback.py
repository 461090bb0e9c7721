"""Checks that a request was meant for this machine, for servers that require no credentials.

A web page of another site can make a browser call a server on loopback. The page cannot choose the Host header freely,
and the browser sends the page's origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from functools import lru_cache

_OTHER_SITES = "this server accepts local requests only: requests from other web sites are refused"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:]+)\]|([^:\[\]]+))(?::[0-9]*)?")


@lru_cache(64)  # A client sends the same host with every request; the edge limits its length.
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


def refusal_of(method: str, headers: Mapping[str, str]) -> str:
    """Why a server that requires no credentials must refuse a request; empty if it may answer.

    A page of another server on this machine may read, since browsers hide the response from it. It may write only what
    a browser sends after asking the server, which no server here allows: a form or plain text it sends without asking.
    The page of another site may link to a page here, and not load anything.
    """
    host = headers.get("host", "")
    if not host_is_loopback(host):
        return "this server accepts local requests only: the Host header must name this machine"
    origin = headers.get("origin")
    if origin is None:
        # Of a page on localhost, 127.0.0.1 is another site, too. Only an Origin shows that the page is of this machine.
        is_other = headers.get("sec-fetch-site") == "cross-site" and not _is_followed_link(method, headers)
        return _OTHER_SITES if is_other else ""
    if not origin_is_loopback(origin):
        return _OTHER_SITES
    if method in _READING or origin.partition("://")[2] == host or _is_data(headers.get("content-type", "")):
        return ""
    return "requests from the pages of another port need a Content-Type such as application/json"


def is_from_other_page(headers: Mapping[str, str]) -> bool:
    """Whether the browser says that the page of another server is behind the request. An image or a link of it sends no
    Origin with a GET, so a GET with an effect needs this.
    """
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _is_followed_link(method: str, headers: Mapping[str, str]) -> bool:
    return method == "GET" and headers.get("sec-fetch-mode") == "navigate"


def _is_data(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    return media.startswith("application/") and media != "application/x-www-form-urlencoded"
