"""The request that follows a redirect. Pure.

Credentials are sent only to the origin (scheme, host and port) that they are for. Another origin gets only headers that
cannot hold a credential, by a list of allowed names, and never a body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from homeostat.external.rest.request import Request, origin_of

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HARMLESS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "range",
        "user-agent",
        "if-none-match",
        "if-modified-since",
    }
)
_OF_BODY: Final = frozenset({"content-type", "content-length", "content-encoding"})


def redirected(request: Request, status: int, headers: Mapping[str, str]) -> Request | None:
    """The next request; None if the response is not a redirect, or cannot be followed safely."""
    location = headers.get("location", "")
    if status not in _REDIRECTS or not location:
        return None
    try:
        target = _target(request.url, location)
        is_same = origin_of(target) == origin_of(request.url)
    except ValueError:
        return None
    is_read = request.method.upper() in ("GET", "HEAD")
    if status in (307, 308) and not is_read:
        return replace(request, url=target) if is_same else None
    followed = request if is_read else _as_get(request)
    return replace(followed, url=target) if is_same else _moved(followed, target)


def _moved(request: Request, url: str) -> Request:
    """The same request to another origin, without anything that may be a credential."""
    headers = {name: value for name, value in request.headers.items() if name.lower() in _HARMLESS}
    return replace(request, url=url, headers=headers, auth=None, is_anonymous=True)


def _target(base: str, location: str) -> str:
    parts = urlsplit(urljoin(base, location))
    # Credentials in a Location are not ours.
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def _as_get(request: Request) -> Request:
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_BODY}
    return replace(request, method="GET", body=None, headers=headers, idempotent=None)
