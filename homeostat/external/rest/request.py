"""One HTTP request to a system outside, and its response. Frozen values; neither shows a credential in its repr."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from homeostat.external.rest.auth import Auth
from homeostat.external.rest.errors import InvalidResponseError
from homeostat.external.secrets.credentials import TlsCredentials

LARGEST_RESPONSE: Final = 16 << 20
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_PORTS: Final = {"http": 80, "https": 443}

_is_host = re.compile(r"(\[[^\]]+\]|[^:\[\]]+)(:\d*)?").fullmatch

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float = 30.0
    """For everything: tokens, a free connection, redirects, retries and the body."""
    largest: int = LARGEST_RESPONSE
    """Bytes of the body, unpacked."""
    auth: Auth | None = None
    redirects: int = 0
    """How many are followed; with 0 a redirect is a response like any other."""
    tls: TlsCredentials | None = None
    """In place of the client's own."""
    is_anonymous: bool = False
    """No client certificate is presented, whichever there is."""
    idempotent: bool | None = None
    """Whether sending it twice does no harm; unless given, the method decides."""

    def __repr__(self) -> str:
        return f"Request({self.method} {self.host})"

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def is_idempotent(self) -> bool:
        return self.method.upper() in _IDEMPOTENT if self.idempotent is None else self.idempotent


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    """By names in lower case; a header that was sent twice is joined by commas."""
    body: bytes = field(repr=False)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def decode(self, shape: type[T]) -> T:
        """The JSON body as this type; `InvalidResponseError` if it is another."""
        try:
            return msgspec.json.decode(self.body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidResponseError(f"HTTP {self.status} with an unexpected body: {error}") from error


def host_of(url: str) -> str:
    """Host and port as the URL has them, without credentials."""
    found = re.split(r"[/?#\\]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    # What follows a colon and is no port is part of a password that is not percent-encoded.
    return found if _is_host(found) else "the address"


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port; `ValueError` for a URL without them."""
    parts: SplitResult = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    if scheme not in _PORTS or not host:
        raise ValueError("expected a URL with http:// or https:// and a host")
    return scheme, host.rstrip("."), parts.port or _PORTS[scheme]
