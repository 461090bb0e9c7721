"""The first login: a code that `homeostat up` prints as a link, and that is exchanged for a token once.

The code is random, known to this process and its console only, and valid for some minutes. Whoever has it becomes an
administrator for a working day, so a new user sees the dashboard before there is any user.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from homeostat.server.access.tokens.file import Tokens
from homeostat.server.access.user import MASTERS

log = logging.getLogger(__name__)

LIFE_S: Final = 600.0
USER: Final = "local-administrator"
_TOKEN_LIFE_S: Final = 12 * 3600


class OneTimeCode:
    """`clock` counts seconds, `now` returns the wall clock."""

    def __init__(
        self, tokens: Tokens, *, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time
    ) -> None:
        self._tokens, self._clock, self._now = tokens, clock, now
        self.code: Final = secrets.token_urlsafe(24)
        self._digest: bytes | None = _digest(self.code)
        self._until = clock() + LIFE_S

    @asynccontextmanager
    async def redeem(self, code: str) -> AsyncIterator[str]:
        """A context with a bearer token of an administrator; empty if the code is wrong, expired or was used before.
        An error in it leaves the code valid.
        """
        given = _digest(code)
        if self._digest is None or not hmac.compare_digest(given, self._digest):
            yield ""
            return
        # Before anything is awaited: of two requests with the code one gets a token.
        self._digest = None
        if self._clock() > self._until:
            yield ""
            return
        token, is_used = "", False
        try:
            token = await asyncio.to_thread(self._create)
            yield token
            is_used = True
            log.info("one-time link was used", extra={"user": USER})
        finally:
            if not is_used:
                self._digest = given
                if token:
                    await asyncio.to_thread(self._tokens.revoke, token.split("-")[1])

    def _create(self) -> str:
        return self._tokens.create(
            USER, now=self._now(), groups=(MASTERS,), life_s=_TOKEN_LIFE_S, description="signed in by a one-time link"
        )


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.encode(errors="surrogatepass")).digest()
