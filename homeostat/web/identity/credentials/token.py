"""The tokens that this API gives at login: JWT, signed with one key that all its servers share.

A token says who somebody is. What they may do is looked up at each request, so its claims about that are for clients
to read and are never believed here.
"""

from __future__ import annotations

import base64
import binascii
import os
import time
from collections.abc import Callable, Mapping
from typing import Final

import jwt
import msgspec
from jwt.types import Options

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET

KEY_VARIABLE: Final = "JWT_SECRET_KEY"
EXPIRY_VARIABLE: Final = "JWT_EXPIRY_HOURS"
KEY_SECRET: Final = "homeostat-rest-token-key"  # noqa: S105
_KEY: Final = "key"
_KEY_BYTES: Final = 32
_ALGORITHM: Final = "HS256"
_HOUR_S: Final = 3600
_LONGEST_HOURS: Final = 24 * 366
_LONGEST_TOKEN: Final = 4096
_MOST_KNOWN: Final = 4096
_LEEWAY_S: Final = 1
# The clock is ours, so that tests can set it.
_OPTIONS: Final[Options] = {"require": ["sub", "exp", "iat"], "verify_exp": False, "verify_iat": False}


class TokenError(Exception):
    """A token of ours that is not good any more."""


class SettingError(ValueError):
    """A variable of the environment that cannot be taken."""


class Claims(msgspec.Struct, frozen=True):
    sub: str
    username: str
    iat: float
    exp: float


class Tokens:
    """`now` is the time. The key is secret: it has no repr."""

    def __init__(self, key: bytes, *, hours: float = 24, now: Callable[[], float] = time.time) -> None:
        self._key, self._life_s, self._now = key, hours * _HOUR_S, now
        self._known: dict[str, Claims] = {}

    def make(self, claims: JsonObject) -> str:
        """`claims` without the times."""
        now = self._now()
        return jwt.encode({**claims, "iat": round(now, 6), "exp": int(now + self._life_s)}, self._key, _ALGORITHM)

    def read(self, token: str) -> Claims | None:
        """None for what was not signed by us; `TokenError` for what has expired. What was good once is remembered."""
        claims = self._known.get(token)
        if claims is None:
            claims = self._verified(token)
            if claims is None:
                return None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[token] = claims
        if claims.exp + _LEEWAY_S <= self._now():
            raise TokenError("the token has expired; log in again")
        return claims

    def _verified(self, token: str) -> Claims | None:
        if len(token) > _LONGEST_TOKEN:
            return None
        try:
            return msgspec.convert(jwt.decode(token, self._key, [_ALGORITHM], options=_OPTIONS), Claims)
        except (jwt.InvalidTokenError, msgspec.ValidationError):
            return None


def expiry_hours(environment: Mapping[str, str]) -> float:
    told = environment.get(EXPIRY_VARIABLE) or "24"
    try:
        hours = float(told)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= _LONGEST_HOURS:
        raise SettingError(f'{EXPIRY_VARIABLE}="{told}" is not a number of hours above 0 and up to {_LONGEST_HOURS}')
    return hours


def given_key(environment: Mapping[str, str]) -> bytes:
    """Empty where there is none."""
    key = environment.get(KEY_VARIABLE, "").encode()
    if key and len(key) < _KEY_BYTES:
        raise SettingError(
            f"{KEY_VARIABLE} is shorter than {_KEY_BYTES} bytes and could be guessed; make one with:"
            " openssl rand -hex 32; or leave it out to have one made"
        )
    return key


async def load_key(client: Client, namespace: str, environment: Mapping[str, str]) -> bytes:
    """The environment's, or one that is made once and kept in a Secret, so that all servers have the same."""
    if given := given_key(environment):
        return given
    path = SECRET.path(namespace, KEY_SECRET)
    try:
        return _kept(await client.get(path))
    except NotFoundError:
        pass
    try:
        return _kept(await client.create(SECRET.path(namespace), _new_secret()))
    except AlreadyExistsError:
        return _kept(await client.get(path))


def _new_secret() -> JsonObject:
    key = base64.b64encode(os.urandom(_KEY_BYTES)).decode()
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": KEY_SECRET}, "data": {_KEY: key}}


def _kept(secret: JsonObject) -> bytes:
    try:
        key = base64.b64decode((secret.get("data") or {})[_KEY], validate=True)
    except (KeyError, binascii.Error) as error:
        raise SettingError(
            f'the Secret "{KEY_SECRET}" has no "{_KEY}"; delete the Secret to generate a new key'
        ) from error
    if len(key) < _KEY_BYTES:
        raise SettingError(
            f'the key in the Secret "{KEY_SECRET}" is too short; delete the Secret to generate a new key'
        )
    return key
