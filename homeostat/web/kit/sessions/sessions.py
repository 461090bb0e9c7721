"""Sessions of browsers: what a login gives, and what ends with a sign-out.

    value = await sessions.start(token, user="anna")     # for the cookie
    token = await sessions.token(value)                  # "" if the session has ended
    await sessions.end(value)

The value is the token, sealed with a key that all replicas share (AES-GCM). So a copied cookie is worth as much as the
session and no more: nobody but the server gets the token out of it, and after the sign-out it is refused everywhere.
"""

from __future__ import annotations

import base64
import binascii
import os
import time
import zlib
from collections.abc import Callable
from secrets import token_urlsafe
from typing import Final

import msgspec

from homeostat.edge.imports import import_in_thread
from homeostat.objects.errors import InternalError
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.web.kit.refusal import unauthorized
from homeostat.web.kit.sessions.cookie import LONGEST_VALUE
from homeostat.web.kit.sessions.ended import RECHECK_S, EndedSessions, Session

KEY_NAME: Final = "dashboard-session-key"
_CIPHER: Final = "cryptography.hazmat.primitives.ciphers.aead"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_PURPOSE: Final = b"homeostat browser session"
_decode = msgspec.json.Decoder(Session).decode


class Sessions:
    """`life_s` is the longest time that a session lasts; `now` returns the wall clock."""

    def __init__(
        self,
        private: PrivateSecrets,
        *,
        life_s: float,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._private, self._life_s, self._now, self._clock = private, life_s, now, clock
        self._ended = EndedSessions(private, now=now, clock=clock)
        self._key = b""
        self._checked_until = float("-inf")

    async def start(self, token: str, *, user: str) -> str:
        """The value of the cookie; `RefusalError` 401 if the token is too long for one."""
        began = self._now()
        made = Session(token_urlsafe(12), user, round(began, 3), round(began + self._life_s), token)
        key = self._key or await self._private.read(KEY_NAME)
        self._key = key or await self._private.create(KEY_NAME, os.urandom(_KEY_BYTES))
        value = await _sealed(self._key, msgspec.json.encode(made))
        if len(value) > LONGEST_VALUE:
            raise unauthorized("the token is too long for a cookie; use a shorter one")
        return value

    async def token(self, value: str) -> str:
        """The token of the session; empty if it has ended or is not one of ours."""
        session = await self._opened(value)
        return session.token if session is not None and not await self._ended.has(session) else ""

    async def end(self, value: str) -> None:
        """Ends the session for all replicas."""
        session = await self._opened(value)
        if session is not None and not await self._ended.has(session):
            await self._ended.add(session)

    async def _opened(self, value: str) -> Session | None:
        if not value:
            return None
        session = await _opened(self._key, value) if self._key else None
        if session is None and await self._has_new_key():
            session = await _opened(self._key, value)
        return session if session is not None and self._now() < session.expires else None

    async def _has_new_key(self) -> bool:
        """Reads the key again: another replica may have created it, or replaced one that was deleted. With a key, at
        most every `RECHECK_S`, because anybody can send values that it does not open.
        """
        if self._key and self._clock() < self._checked_until:
            return False
        self._checked_until = self._clock() + RECHECK_S
        known, self._key = self._key, await self._private.read(KEY_NAME) or b""
        return bool(self._key) and self._key != known


async def _sealed(key: bytes, session: bytes) -> str:
    await import_in_thread(_CIPHER)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    # A token is mostly base64, which compresses by a quarter: as much as the encoding of the sealed value adds.
    sealed = AESGCM(_checked(key)).encrypt(nonce, zlib.compress(session, 9), _PURPOSE)
    return base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("=")


async def _opened(key: bytes, value: str) -> Session | None:
    """None if the value was not sealed with the key, or is not a session as this version writes it."""
    await import_in_thread(_CIPHER)
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        raw = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
        opened = AESGCM(_checked(key)).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _PURPOSE)
        return _decode(zlib.decompress(opened))
    except (binascii.Error, InvalidTag, ValueError, zlib.error, msgspec.MsgspecError):
        return None


def _checked(key: bytes) -> bytes:
    if len(key) != _KEY_BYTES:
        raise InternalError(f'the private secret "{KEY_NAME}" is not a key of {_KEY_BYTES} bytes; delete it')
    return key
