"""Tokens of OAuth2 servers, by client credentials: obtained at the first use, cached until shortly before they expire.

Concurrent requests for the same token share one exchange. A token is cached under all the settings that it was obtained
with. The report of a refusal holds none of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from homeostat.external.rest.auth import OAuth2
from homeostat.external.rest.errors import InvalidResponseError, ResponseLostError, TokenError
from homeostat.external.rest.request import Request, Response
from homeostat.external.secrets.credentials import BasicAuth

_LARGEST: Final = 1 << 20
_USUAL_S: Final = 300.0
_EARLY: Final = 0.1
"""The last part of a token's lifetime, in which it is not used, so that none expires on its way."""
_MOST_KEPT: Final = 1000
_LONGEST_SHOWN: Final = 200

Send = Callable[[Request], Awaitable[Response]]


class _Granted(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float | str | None = None
    token_type: str = "Bearer"  # noqa: S105


class _Refusal(msgspec.Struct, frozen=True):
    error: str = ""
    error_description: str = ""


class OAuth2Tokens:
    def __init__(self, send: Send, seconds: Callable[[], float]) -> None:
        self._send, self._seconds = send, seconds
        self._kept: dict[OAuth2, tuple[str, float]] = {}
        self._pending: dict[OAuth2, asyncio.Event] = {}

    async def get(self, auth: OAuth2) -> str:
        while True:
            kept = self._kept.get(auth)
            if kept is not None and kept[1] > self._seconds():
                return kept[0]
            pending = self._pending.get(auth)
            if pending is None:
                return await self._obtain(auth)
            await pending.wait()

    def forget(self, auth: OAuth2, token: str) -> None:
        """The server rejected the token before it expired."""
        if self._kept.get(auth, ("",))[0] == token:
            del self._kept[auth]

    async def _obtain(self, auth: OAuth2) -> str:
        done = self._pending[auth] = asyncio.Event()
        try:
            token, lasts_s = _granted(auth, await self._sent(auth))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[auth] = (token, self._seconds() + lasts_s * (1 - _EARLY))
            return token
        finally:
            del self._pending[auth]
            done.set()

    async def _sent(self, auth: OAuth2) -> Response:
        request = token_request(auth)
        try:
            return await self._send(request)
        except ResponseLostError as error:
            # A token may have been issued, but the request that needs it was not sent.
            raise TokenError(f"no token: {error}") from error


def token_request(auth: OAuth2) -> Request:
    form = {"grant_type": "client_credentials", "scope": auth.scope, "audience": auth.audience}
    if auth.username:
        form |= {"grant_type": "password", "username": auth.username, "password": auth.password}
    if auth.sends == "form":
        form |= {"client_id": auth.client_id, "client_secret": auth.client_secret}
    body = urlencode({name: value for name, value in form.items() if value}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    # RFC 6749, 2.3.1: both are form-encoded before they are joined.
    client = BasicAuth(quote(auth.client_id, safe=""), quote(auth.client_secret, safe=""))
    shown = client if auth.sends == "basic" else None
    return Request("POST", auth.token_url, headers, body, largest=_LARGEST, auth=shown, idempotent=True)


def _granted(auth: OAuth2, response: Response) -> tuple[str, float]:
    host = token_request(auth).host
    if not response.is_success:
        problem = f"no token: HTTP {response.status}{_why(response)}"
        raise TokenError(problem, host=host, advice="check client id, secret and scope")
    try:
        found = response.decode(_Granted)
        lasts_s = _USUAL_S if found.expires_in is None else float(found.expires_in)
    except (InvalidResponseError, ValueError) as error:
        problem = "the token response does not match RFC 6749"
        raise TokenError(problem, host=host, advice="check the token URL") from error
    if not found.access_token or found.token_type.lower() != "bearer":
        raise TokenError("expected a bearer token", host=host, advice="check the token URL")
    return found.access_token, max(lasts_s, 0.0)


def _why(response: Response) -> str:
    try:
        found = response.decode(_Refusal)
    except InvalidResponseError:
        return ""
    shown = " ".join(f"{found.error} {found.error_description}".split())[:_LONGEST_SHOWN]
    return f": {shown}" if shown else ""
