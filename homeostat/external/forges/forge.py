"""Calls to the REST API of a forge (GitHub, GitLab), with errors that say whether something was started.

A pipeline must not be started twice. `UnknownOutcomeError` means that the request may have been carried out; after all
other errors nothing was started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import ResponseLostError, RestError
from homeostat.external.rest.request import Request, Response
from homeostat.external.rest.retry import retry_after_s
from homeostat.objects.json import JsonObject, encode

LONGEST_LIMIT_S = 3600.0
MOST_BRACKETS = 200_000
"""Of a response, those in texts included: millions of empty objects would block the event loop for a second."""
_LARGEST_ERROR = 1 << 16
_LONGEST_MESSAGE = 300
_REDIRECTS = (301, 302, 307, 308)

T = TypeVar("T")


class ForgeError(Exception):
    reason = "ForgeFailed"


class RefusedError(ForgeError):
    """The forge refused the request: nothing was done. `message` is the forge's own."""

    reason = "ForgeRefused"

    def __init__(self, text: str, status: int, message: str = "") -> None:
        super().__init__(text)
        self.status, self.message = status, message


class RateLimitedError(ForgeError):
    reason = "RateLimited"

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class UnreachedError(ForgeError):
    """The request did not reach the forge."""

    reason = "ForgeUnreachable"


class UnknownOutcomeError(ForgeError):
    """The forge failed, or its response was lost: it may have carried out the request."""

    reason = "ForgeUnavailable"


class Forge:
    """`limit_s` returns how long to wait after a response because of a rate limit, or None."""

    def __init__(
        self,
        http: RestClient,
        api: str,
        headers: Mapping[str, str],
        *,
        limit_s: Callable[[Response], float | None],
        timeout_s: float = 30.0,
    ) -> None:
        self._http, self._api, self._headers = http, api.rstrip("/"), {"User-Agent": "homeostat", **headers}
        self._limit_s, self._timeout_s = limit_s, timeout_s

    async def ask(
        self, method: str, path: str, body: JsonObject | None = None, *, may_redirect: bool = False
    ) -> Response:
        data = None if body is None else encode(body)
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        answer = await self._sent(Request(method, f"{self._api}{path}", headers, data, self._timeout_s))
        if answer.is_success or (may_redirect and answer.status in _REDIRECTS):
            return answer
        message = _message(answer)
        text = f"{method} {path.partition('?')[0]}: HTTP {answer.status}: {message}"
        if answer.status >= 500:
            raise UnknownOutcomeError(text)
        if (after_s := self._limit_s(answer)) is not None:
            raise RateLimitedError(text, min(max(after_s, 1.0), LONGEST_LIMIT_S))
        raise RefusedError(text, answer.status, message)

    async def download(self, path: str, *, largest: int) -> bytes:
        """Downloads a file, following one redirect. The redirect's URL may be secret, and gets none of our headers."""
        answer = await self.ask("GET", path, may_redirect=True)
        if answer.status in _REDIRECTS and (url := answer.headers.get("location")):
            answer = await self._sent(Request("GET", url, timeout_s=self._timeout_s, largest=largest))
            if not answer.is_success:
                raise UnknownOutcomeError(f"artifact download failed: HTTP {answer.status}")
        return answer.body

    async def _sent(self, ask: Request) -> Response:
        try:
            return await self._http.send(ask)
        except ResponseLostError as error:
            raise UnknownOutcomeError(str(error)) from error
        except RestError as error:
            raise UnreachedError(str(error)) from error


def limit_s(answer: Response, now_s: float, *, reset: str) -> float | None:
    """How long to wait: `Retry-After`, else until the time in the header `reset`; None without both."""
    if (after_s := retry_after_s(answer.headers, now_s)) is not None:
        return after_s
    at = answer.headers.get(reset, "")
    return float(at) - now_s if at.isdecimal() else None


def read(answer: Response, shape: type[T]) -> T:
    if answer.body.count(b"{") + answer.body.count(b"[") > MOST_BRACKETS:
        raise UnknownOutcomeError(f"unexpected response: it has more than {MOST_BRACKETS} objects and arrays")
    try:
        found: T = msgspec.json.decode(answer.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnknownOutcomeError(f"unexpected response: {error}") from error
    return found


class _ErrorBody(msgspec.Struct, frozen=True):
    message: Any = ""
    error: Any = ""


def _message(answer: Response) -> str:
    try:
        # The start of a larger one is shown as it is.
        body = msgspec.json.decode(answer.body[:_LARGEST_ERROR], type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return answer.body[:_LONGEST_MESSAGE].decode(errors="replace")
    message = body.message or body.error
    return (message if isinstance(message, str) else encode(message).decode())[:_LONGEST_MESSAGE]
