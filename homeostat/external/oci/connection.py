"""Requests to registries: their URLs, credentials and errors.

TLS is required, except for a registry on this machine or one that is configured as plain. Credentials are sent as the
registry's challenge requires; a redirect to another host, which usually serves the blobs, does not get them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec

from homeostat.external.oci.auth import Authorizer, Keychain
from homeostat.external.oci.errors import (
    DeniedError,
    NotFoundError,
    OciError,
    RateLimitedError,
    TooLargeError,
    UnauthorizedError,
    UnexpectedResponseError,
    UnreachableError,
)
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import InvalidResponseError, ResponseTooLargeError, RestError
from homeostat.external.rest.request import Request, Response, origin_of
from homeostat.external.rest.retry import retry_after_s
from homeostat.external.rest.transport import Opened
from homeostat.objects.views.image import Image

_HOSTS: Final = {"docker.io": "registry-1.docker.io"}
_LARGEST_ERROR: Final = 64 << 10
_LONGEST_TEXT: Final = 300
_REDIRECTS: Final = 5


class _Fault(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Faults(msgspec.Struct, frozen=True):
    errors: list[_Fault] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request below `/v2/PATH/` of the image's repository, or to a `url` that the registry sent."""

    method: str
    path: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    largest: int = 1 << 20
    is_push: bool = False
    mounts: str = ""
    """Another repository of the registry, to mount a blob from."""
    timeout_s: float = 60.0


class Connections:
    """Sends requests, and keeps the tokens of each registry."""

    def __init__(
        self, client: RestClient, keychain: Keychain, plain: frozenset[str], seconds: Callable[[], float] | None
    ) -> None:
        self._client, self._keychain, self._plain = client, keychain, plain
        self._seconds = seconds or (lambda: asyncio.get_running_loop().time())
        self._authorizers: dict[str, Authorizer] = {}

    async def send(self, image: Image, call: Call) -> Response:
        """A response of any status but 401, 403 and 429."""
        with _mapped(image):
            for _ in range(2):
                request, authorizer, scopes = await self._request(image, call)
                response = await self._client.send(request)
                header = response.headers.get("www-authenticate", "")
                if response.status != 401 or not authorizer.learn(header, scopes, request.auth):
                    break
        _check_allowed(image, response.status, response.headers, response.body)
        return response

    @asynccontextmanager
    async def stream(self, image: Image, call: Call) -> AsyncIterator[Opened]:
        with _mapped(image):
            for last in (False, True):
                request, authorizer, scopes = await self._request(image, call)
                async with self._client.stream(request) as response:
                    header = response.headers.get("www-authenticate", "")
                    if response.status == 401 and authorizer.learn(header, scopes, request.auth) and not last:
                        continue
                    _check_allowed(image, response.status, response.headers, b"")
                    yield response
                    return

    def location(self, image: Image, header: str, base: str = "") -> str:
        """The URL where an upload or a list continues. It must be at the registry: credentials are sent there."""
        root = base or self._root(image)
        try:
            url = urljoin(root, header)
            is_same = bool(header) and origin_of(url) == origin_of(root)
        except ValueError:
            is_same = False
        if not is_same:
            raise UnexpectedResponseError(f"{image.registry}: it does not say where at itself the request continues")
        return url

    async def _request(self, image: Image, call: Call) -> tuple[Request, Authorizer, tuple[str, ...]]:
        authorizer = self._authorizer(image.registry)
        actions = "pull,push" if call.is_push else "pull"
        scopes = (f"repository:{image.path}:{actions}", *([f"repository:{call.mounts}:pull"] if call.mounts else []))
        request = Request(
            call.method,
            call.url or f"{self._root(image)}/v2/{image.path}/{call.path}",
            headers=call.headers,
            body=call.body,
            largest=call.largest,
            auth=await authorizer.authorize(image.path, scopes),
            redirects=_REDIRECTS if call.method in ("GET", "HEAD") else 0,
            timeout_s=call.timeout_s,
        )
        return request, authorizer, scopes

    def _authorizer(self, registry: str) -> Authorizer:
        found = self._authorizers.get(registry)
        if found is None:
            found = self._authorizers[registry] = Authorizer(
                self._client, self._keychain, registry, is_plain=self._is_plain, seconds=self._seconds
            )
        return found

    def _root(self, image: Image) -> str:
        scheme = "http" if self._is_plain(image.registry) else "https"
        return f"{scheme}://{_HOSTS.get(image.registry, image.registry)}"

    def _is_plain(self, registry: str) -> bool:
        return registry in self._plain or is_loopback(registry)


def is_loopback(registry: str) -> bool:
    host = urlsplit(f"//{registry}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _mapped(image: Image) -> Iterator[None]:
    """Turns errors of the transport into errors of a registry."""
    try:
        yield
    except ResponseTooLargeError as error:
        raise TooLargeError(f"{image.repository}: {error}") from error
    except InvalidResponseError as error:
        raise UnexpectedResponseError(f"{image.repository}: {error}") from error
    except RestError as error:
        raise UnreachableError(f"{image.repository}: {error}") from error


def _check_allowed(image: Image, status: int, headers: Mapping[str, str], body: bytes) -> None:
    if status in (401, 403, 429):
        raise failure(image, status, headers, body)


def failure(image: Image, status: int, headers: Mapping[str, str], body: bytes = b"", what: str = "") -> OciError:
    """The narrowest error for a response that is not a success."""
    text = f"{image.repository}{what and f': {what}'}: HTTP {status}{_reported(body)}"
    match status:
        case 401:
            return UnauthorizedError(f"{text}; check the registry's credentials")
        case 403:
            return DeniedError(f"{text}; check the permissions of the registry's credentials")
        case 404:
            return NotFoundError(f"{text}: not found")
        case 413:
            return TooLargeError(text)
        case 429:
            after_s = retry_after_s(headers, time.time())
            return RateLimitedError(f"{text}: too many requests", after_s)
        case _ if status >= 500:
            return UnreachableError(text)
    return UnexpectedResponseError(text)


def _reported(body: bytes) -> str:
    """The registry's own error texts, if they have the form of the protocol."""
    try:
        faults = msgspec.json.decode(body[:_LARGEST_ERROR], type=_Faults).errors
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    text = "; ".join(f"{each.code} {each.message}".strip() for each in faults)
    shown = "".join(each if each.isprintable() else " " for each in text)[:_LONGEST_TEXT]
    return f" ({shown})" if shown else ""
