"""Secrets of a Vault, or an OpenBao: read from its key-value engine, version 2 or 1.

A key is a path, `team/database`, with the field `value`, or another one: `team/database#password`. `KeyError` where
there is none; a `VaultError` says what is wrong and never a secret. What was read counts for half a minute.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import msgspec

from homeostat.external.rest.client import Answer, Ask, ExchangeError, Http
from homeostat.external.vault.settings import AppRole, ServiceAccount, VaultSettings
from homeostat.objects.json import Json, JsonObject, encode

log = logging.getLogger(__name__)

_KEPT_S: Final = 30.0
_MOST_KEPT: Final = 1000
_TIMEOUT_S: Final = 15.0
_LARGEST: Final = 4 << 20
_RETRY_S: Final = 15.0
_LOOK_AGAIN_S: Final = 3600.0
_LONGEST_TOLD: Final = 200


class VaultError(ExchangeError):
    """No answer that is of use: the Vault is away, sealed, or does not let us in."""

    reason = "VaultUnavailable"


class VaultRefusedError(VaultError):
    """It does not let us in, or not to this secret."""

    reason = "VaultRefused"


class _Lease(msgspec.Struct, frozen=True):
    """`ttl_s` is 0 of a token that does not end."""

    token: str
    ttl_s: float
    is_renewable: bool
    until_s: float


class Vault:
    """As a context: while it is open the token is kept alive. Two who come at once may both log in; either will do."""

    def __init__(self, settings: VaultSettings, *, seconds: Callable[[], float] | None = None) -> None:
        self._settings = settings
        self._seconds = seconds or (lambda: asyncio.get_running_loop().time())
        tls = ssl.create_default_context(cafile=settings.authority) if settings.authority else None
        self._http = Http(tls=tls)
        self._lease: _Lease | None = None
        self._kept: dict[str, tuple[float, JsonObject]] = {}
        self._keeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Vault:
        self._keeping = asyncio.create_task(self._keep(), name="vault")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        await self._http.close()

    async def get_secret(self, key: str) -> str:
        path, _, name = key.partition("#")
        fields = await self._fields(path.strip("/"), key)
        value = fields.get(name or "value")
        if value is None or value == "":
            raise KeyError(key)
        return value if isinstance(value, str) else encode(value).decode()

    async def check(self) -> None:
        """`VaultError` where the token, or what it is got with, is not taken."""
        await self._token()

    async def _fields(self, path: str, key: str) -> JsonObject:
        if not path or any(each in ("", ".", "..") for each in path.split("/")):
            raise KeyError(key)
        now = self._seconds()
        if (kept := self._kept.get(path)) is not None and kept[0] > now:
            return kept[1]
        fields = await self._read(path)
        if fields is None:
            self._kept.pop(path, None)
            raise KeyError(key)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[path] = (now + _KEPT_S, fields)
        return fields

    async def _read(self, path: str) -> JsonObject | None:
        settings = self._settings
        inner = f"{settings.mount}/data/{path}" if settings.version == 2 else f"{settings.mount}/{path}"
        lease = await self._token()
        try:
            answer = await self._ask("GET", inner, token=lease.token)
        except VaultRefusedError:
            if isinstance(settings.identity, str):
                raise
            # The token may have been revoked before its time.
            self._lease = None
            answer = await self._ask("GET", inner, token=(await self._token()).token)
        if answer.status == 404:
            return None
        data = _member(answer, "data")
        # A version that was deleted has metadata and no data.
        found = data.get("data") if settings.version == 2 else data
        return found if isinstance(found, dict) else None

    async def _token(self) -> _Lease:
        lease = self._lease
        if lease is None or (lease.ttl_s and lease.until_s <= self._seconds()):
            lease = self._lease = await self._log_in()
        return lease

    async def _log_in(self) -> _Lease:
        match self._settings.identity:
            case None:
                raise VaultRefusedError("set VAULT_TOKEN, VAULT_ROLE_ID or VAULT_KUBERNETES_ROLE beside VAULT_ADDR")
            case str() as token:
                data = _member(await self._ask("GET", "auth/token/lookup-self", token=token), "data")
                return self._leased(token, data.get("ttl"), data.get("renewable"))
            case AppRole(role_id, secret_id, mount):
                return await self._exchange(mount, {"role_id": role_id, "secret_id": secret_id})
            case ServiceAccount(role, token_file, mount):
                try:
                    jwt = token_file.read_text().strip()
                except OSError as error:
                    raise VaultError(f"{token_file} cannot be read: {error.strerror}") from error
                return await self._exchange(mount, {"role": role, "jwt": jwt})

    async def _exchange(self, mount: str, body: JsonObject) -> _Lease:
        auth = _member(await self._ask("POST", f"auth/{mount}/login", body), "auth")
        return self._granted(auth, "")

    def _granted(self, auth: JsonObject, token: str) -> _Lease:
        token = auth.get("client_token") or token
        if not isinstance(token, str) or not token:
            raise VaultError("the Vault answered a login without a token")
        return self._leased(token, auth.get("lease_duration"), auth.get("renewable"))

    def _leased(self, token: str, ttl: Json, renewable: Json) -> _Lease:
        ttl_s = float(ttl) if isinstance(ttl, int | float) else 0.0
        return _Lease(token, ttl_s, renewable is True, self._seconds() + ttl_s)

    async def _keep(self) -> None:
        """Logs in at once, and renews when two thirds of the token's time are over."""
        told = ""
        while True:
            try:
                lease = await self._token()
                told = ""
                await asyncio.sleep(lease.ttl_s * 2 / 3 if lease.ttl_s else _LOOK_AGAIN_S)
                await self._renew(lease)
            except ExchangeError as error:
                if told != (told := str(error)):
                    log.warning("there is no token for the Vault", extra={"error": told})
                await asyncio.sleep(_RETRY_S)

    async def _renew(self, lease: _Lease) -> None:
        if not lease.ttl_s or self._lease is not lease:
            return
        try:
            if not lease.is_renewable:
                raise VaultRefusedError("the token is not renewable")
            auth = _member(await self._ask("POST", "auth/token/renew-self", {}, token=lease.token), "auth")
            self._lease = self._granted(auth, lease.token)
        except VaultRefusedError:
            # Longer than the Vault allows no token lives: then there is another one, if we know how to get it.
            if isinstance(self._settings.identity, str):
                raise
            self._lease = await self._log_in()

    async def _ask(self, method: str, path: str, body: JsonObject | None = None, *, token: str = "") -> Answer:
        headers = {"X-Vault-Request": "true", "User-Agent": "homeostat"}
        if token:
            headers["X-Vault-Token"] = token
        if self._settings.namespace:
            headers["X-Vault-Namespace"] = self._settings.namespace
        url = f"{self._settings.address}/v1/{quote(path)}"
        data = None if body is None else encode(body)
        answer = await self._http.send(Ask(method, url, headers, data, timeout_s=_TIMEOUT_S, largest=_LARGEST))
        if answer.is_success or (answer.status == 404 and method == "GET"):
            return answer
        told = f"the Vault answered with HTTP {answer.status}: {_errors(answer)}"
        raise VaultRefusedError(told) if answer.status in (400, 401, 403) else VaultError(told)


class _Told(msgspec.Struct, frozen=True):
    errors: tuple[str, ...] = ()


def _errors(answer: Answer) -> str:
    try:
        told = "; ".join(msgspec.json.decode(answer.body, type=_Told).errors)
    except msgspec.DecodeError:
        told = ""
    return " ".join(told.split())[:_LONGEST_TOLD] or "it does not say why"


def _member(answer: Answer, name: str) -> JsonObject:
    try:
        found: Any = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        found = None
    member = found.get(name) if isinstance(found, dict) else None
    if not isinstance(member, dict):
        raise VaultError(f'the Vault\'s answer has no "{name}"')
    return member
