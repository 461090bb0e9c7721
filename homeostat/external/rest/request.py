"""An HTTP request to an outside system, and its response. Frozen values; neither shows a credential in its repr."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar
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
class StreamedBody:
    """A body that is produced while it is sent. `open` is called for each attempt, so a retry sends all of it."""

    open: Callable[[], AsyncIterator[bytes]]
    length: int | None = None
    """Without it, the body is sent in chunks of HTTP/1.1, which not every server accepts."""


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | StreamedBody | None = None
    timeout_s: float = 30.0
    """For all of it: tokens, a free connection, redirects, retries and the body."""
    largest: int = LARGEST_RESPONSE
    """Bytes of the body, unpacked."""
    auth: Auth | None = None
    redirects: int = 0
    """How many redirects are followed; with 0 a redirect is returned like any response."""
    tls: TlsCredentials | None = None
    """Replaces the TLS settings of the client."""
    is_anonymous: bool = False
    """Whether to present no client certificate, even if one is configured."""
    idempotent: bool | None = None
    """Whether sending it twice is harmless; by default the method decides."""

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
    """By lower-case names; values of a repeated header are joined by commas."""
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


class Sender(Protocol):
    async def send(self, request: Request) -> Response: ...


def host_of(url: str) -> str:
    """Host and port as the URL has them, without credentials."""
    found = re.split(r"[/?#\\]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    # Text after a colon that is not a port is part of a password that is not percent-encoded.
    return found if _is_host(found) else "the address"


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port; `ValueError` for a URL without them."""
    parts: SplitResult = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    if scheme not in _PORTS or not host:
        raise ValueError("expected a URL with http:// or https:// and a host")
    return scheme, host.rstrip("."), parts.port or _PORTS[scheme]
