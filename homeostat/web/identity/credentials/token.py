"""The tokens that this API issues at login: JWT, signed with a key that all replicas share.

A token identifies a user. Permissions are read at each request: the claims about them are information for clients, and
the server does not rely on them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from homeostat.external.environment import SettingError, number
from homeostat.objects.json import JsonObject
from homeostat.runtime.faces.private import PrivateSecrets

if TYPE_CHECKING:
    from jwt.types import Options

KEY_VARIABLE: Final = "JWT_SECRET_KEY"
EXPIRY_VARIABLE: Final = "JWT_EXPIRY_HOURS"
KEY_NAME: Final = "rest-signing-key"
_KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_HOUR_S: Final = 3600
_LONGEST_HOURS: Final = 24 * 366
_LONGEST_TOKEN: Final = 4096
_MOST_KNOWN: Final = 4096
_LEEWAY_S: Final = 1
_LATEST: Final = float(2**53)
# The clock is ours, so that tests can set it.
_OPTIONS: Final[Options] = {"require": ["sub", "exp"], "verify_exp": False, "verify_iat": False}


class TokenError(Exception):
    """The token was issued here and has expired."""


Moment = Annotated[float, msgspec.Meta(ge=-_LATEST, le=_LATEST)]
"""Seconds since 1970. With one that is no number or endless, a token would never expire and never be revoked."""


class Claims(msgspec.Struct, frozen=True):
    sub: str
    username: str
    exp: Moment
    iat: Moment = 0.0
    """Tokens of no8s have none: they are valid until the user's tokens are revoked for the first time."""


class Tokens:
    """`now` returns the wall clock. The key is secret: it has no repr."""

    def __init__(self, key: bytes, *, hours: float = 24, now: Callable[[], float] = time.time) -> None:
        self._key, self._life_s, self._now = key, hours * _HOUR_S, now
        self._known: dict[str, Claims] = {}

    def make(self, claims: JsonObject) -> str:
        """A signed token; the times are added to `claims`."""
        import jwt

        now = self._now()
        return jwt.encode({**claims, "iat": round(now, 6), "exp": int(now + self._life_s)}, self._key, _ALGORITHM)

    def read(self, token: str) -> Claims | None:
        """None if it was not signed with our key; `TokenError` if it has expired. Valid signatures are cached."""
        claims = self._known.get(token)
        if claims is None:
            claims = self._verified(token)
            if claims is None:
                return None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[token] = claims
        if claims.exp + _LEEWAY_S <= self._now():
            raise TokenError("Token has expired; log in again")
        return claims

    def _verified(self, token: str) -> Claims | None:
        if len(token) > _LONGEST_TOKEN:
            return None
        import jwt

        try:
            return msgspec.convert(jwt.decode(token, self._key, [_ALGORITHM], options=_OPTIONS), Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError):
            return None


def expiry_hours(environment: Mapping[str, str]) -> float:
    return number(environment, EXPIRY_VARIABLE, 24, most=_LONGEST_HOURS, excludes_least=True, unit="hours")


def given_key(environment: Mapping[str, str]) -> bytes:
    """The key in the environment; empty without one."""
    key = environment.get(KEY_VARIABLE, "").encode()
    if key and len(key) < _KEY_BYTES:
        raise SettingError(
            f"{KEY_VARIABLE} is shorter than {_KEY_BYTES} bytes and could be guessed; make one with:"
            " openssl rand -hex 32; or unset it to generate one"
        )
    return key


async def load_key(private: PrivateSecrets, environment: Mapping[str, str]) -> bytes:
    """The key in the environment, or one that is generated once and that all replicas share."""
    if given := given_key(environment):
        return given
    return await private.read(KEY_NAME) or await private.create(KEY_NAME, os.urandom(_KEY_BYTES))
