"""A session with a Vault: logs in, renews its token, and sends requests with it.

A token that was revoked before its time is replaced, and the request is sent again. Texts of errors hold no secret.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import msgspec

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request, Response
from homeostat.external.rest.retry import RetryPolicy
from homeostat.external.rest.settings import RestSettings
from homeostat.external.vault.settings import AppRole, Jwt, ServiceAccount, Token, UserPass, VaultSettings
from homeostat.objects.json import Json, JsonObject, encode

log = logging.getLogger(__name__)

_CONFIRMED_S: Final = 30.0
_TIMEOUT_S: Final = 15.0
_LARGEST: Final = 4 << 20
_MOST_BRACKETS: Final = 100_000
"""Of an answer: a million empty lists would block the event loop."""
_RETRY: Final = RetryPolicy(attempts=3)
_RETRY_S: Final = 15.0
_CHECK_AGAIN_S: Final = 3600.0
_LONGEST_SHOWN: Final = 200
_REFUSALS: Final = (401, 403)
_VERSION_REQUIRED: Final = "check-and-set parameter required"
"""Vault says it in words only, as 400."""


class VaultError(RestError):
    """The Vault is unreachable, sealed, or refuses the request. `status` is 0 if no response arrived."""

    reason = "VaultUnavailable"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class VaultRefusedError(VaultError):
    """The Vault refuses the login, or access to this secret."""

    reason = "VaultRefused"


class VersionRequiredError(VaultError):
    """A write to an engine or a secret with `cas_required` must name the version that it replaces."""


class _Lease(msgspec.Struct, frozen=True):
    """`ttl_s` is 0 for a token that does not expire."""

    token: str
    ttl_s: float
    is_renewable: bool
    until_s: float


class Session:
    """A context manager: while it is open, the token is renewed.

    There is no circuit breaker: secrets are needed as soon as the Vault is reachable again.
    """

    def __init__(self, settings: VaultSettings, seconds: Callable[[], float]) -> None:
        self._settings, self._seconds = settings, seconds
        self._http = RestClient(
            RestSettings(tls=settings.tls, proxies=settings.proxies, retry=_RETRY, breaker=None),
        )
        self._lease: _Lease | None = None
        self._confirmed: tuple[_Lease | None, float] = None, 0.0
        self._keeping: asyncio.Task[None] | None = None
        self._login: asyncio.Event | None = None

    async def __aenter__(self) -> Session:
        self._keeping = asyncio.create_task(self._keep(), name="vault")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        await self._http.close()

    async def log_in(self) -> None:
        """`VaultError` if the login fails."""
        await self._token()

    async def send(self, method: str, path: str, body: JsonObject | None = None) -> Response:
        lease = await self._token()
        try:
            return await self._ask(method, path, body, token=lease.token)
        except VaultRefusedError as error:
            if isinstance(self._settings.login, Token) or error.status == 400 or await self._is_valid(lease):
                raise
            # The token was revoked before its time. Another request may have replaced it already.
            if self._lease is lease:
                self._lease = None
            lease = await self._token()
            self._confirmed = lease, self._seconds() + _CONFIRMED_S
            return await self._ask(method, path, body, token=lease.token)

    async def _is_valid(self, lease: _Lease) -> bool:
        """Whether the Vault accepts the token, so that a refusal is about the secret. The result is kept a while."""
        valid, until_s = self._confirmed
        if valid is lease and until_s > self._seconds():
            return True
        try:
            await self._ask("GET", "auth/token/lookup-self", token=lease.token)
        except VaultRefusedError:
            return False
        self._confirmed = lease, self._seconds() + _CONFIRMED_S
        return True

    async def _token(self) -> _Lease:
        """Concurrent requests share one login: a secret ID may be valid for a single one."""
        while True:
            lease = self._lease
            if lease is not None and not (lease.ttl_s and lease.until_s <= self._seconds()):
                return lease
            if self._login is None:
                return await self._log_in_once()
            await self._login.wait()

    async def _log_in_once(self) -> _Lease:
        done = self._login = asyncio.Event()
        try:
            lease = self._lease = await self._log_in()
            return lease
        finally:
            self._login = None
            done.set()

    async def _log_in(self) -> _Lease:
        match self._settings.login:
            case None:
                raise VaultRefusedError(
                    "set VAULT_TOKEN, VAULT_ROLE_ID, VAULT_USERNAME or VAULT_KUBERNETES_ROLE beside VAULT_ADDR"
                )
            case Token(token):
                data = member_of(await self._ask("GET", "auth/token/lookup-self", token=token), "data")
                return self._leased(token, data.get("ttl"), data.get("renewable"))
            case AppRole(role_id, secret_id, mount):
                return await self._exchange(f"{mount}/login", {"role_id": role_id, "secret_id": secret_id})
            case UserPass(username, password, mount):
                return await self._exchange(f"{mount}/login/{quote(username, safe='')}", {"password": password})
            case ServiceAccount(role, token_file, mount):
                try:
                    jwt = token_file.read_text().strip()
                except OSError as error:
                    raise VaultError(f"cannot read {token_file}: {error.strerror}") from error
                except UnicodeDecodeError:
                    raise VaultError(f"cannot read {token_file}: it is not text") from None
                return await self._exchange(f"{mount}/login", {"role": role, "jwt": jwt})
            case Jwt(role, jwt, mount):
                return await self._exchange(f"{mount}/login", {"role": role, "jwt": jwt})

    async def _exchange(self, path: str, body: JsonObject) -> _Lease:
        auth = member_of(await self._ask("POST", f"auth/{path}", body), "auth")
        return self._granted(auth, "")

    def _granted(self, auth: JsonObject, token: str) -> _Lease:
        token = auth.get("client_token") or token
        if not isinstance(token, str) or not token:
            raise VaultError("the Vault login response has no token")
        return self._leased(token, auth.get("lease_duration"), auth.get("renewable"))

    def _leased(self, token: str, ttl: Json, renewable: Json) -> _Lease:
        ttl_s = float(ttl) if isinstance(ttl, int | float) else 0.0
        return _Lease(token, ttl_s, renewable is True, self._seconds() + ttl_s)

    async def _keep(self) -> None:
        """Logs in at once, and renews the token after two thirds of its lifetime."""
        reported = ""
        while True:
            try:
                lease = await self._token()
                reported = ""
                await asyncio.sleep(lease.ttl_s * 2 / 3 if lease.ttl_s else _CHECK_AGAIN_S)
                await self._renew(lease)
            except RestError as error:
                if reported != (reported := str(error)):
                    log.warning("failed to obtain a Vault token; retrying", extra={"error": reported})
                await asyncio.sleep(_RETRY_S)

    async def _renew(self, lease: _Lease) -> None:
        if not lease.ttl_s or self._lease is not lease:
            return
        try:
            if not lease.is_renewable:
                raise VaultRefusedError("the token is not renewable")
            auth = member_of(await self._ask("POST", "auth/token/renew-self", {}, token=lease.token), "auth")
            self._lease = self._granted(auth, lease.token)
        except VaultRefusedError:
            # A token has a maximum lifetime: after it we log in again, if the settings allow it.
            if isinstance(self._settings.login, Token):
                raise
            # A request that found the token expired may do so already.
            if self._login is None and self._lease is lease:
                await self._log_in_once()

    async def _ask(self, method: str, path: str, body: JsonObject | None = None, *, token: str = "") -> Response:
        headers = {"X-Vault-Request": "true"}
        if token:
            headers["X-Vault-Token"] = token
        if self._settings.namespace:
            headers["X-Vault-Namespace"] = self._settings.namespace
        response = await self._http.send(
            Request(
                method,
                f"{self._settings.address}/v1/{path}",
                headers,
                None if body is None else encode(body),
                timeout_s=_TIMEOUT_S,
                largest=_LARGEST,
                idempotent=True if method == "LIST" else None,
            )
        )
        if response.is_success or (response.status == 404 and method != "POST" and not _complaint(response)):
            return response
        reason = _complaint(response)
        text = f"the Vault answered with HTTP {response.status}: {reason or 'it gives no reason'}"
        if response.status == 404:
            text += "; check the address, the namespace, the mount and the version of its engine"
        # Logins with wrong credentials are answered with 400; by Vault 1.14.0 with 500 and "invalid secret id".
        is_wrong = response.status == 400 or (response.status == 500 and reason.startswith("invalid "))
        is_login = is_wrong and path.startswith("auth/")
        kind = VaultRefusedError if is_login or response.status in _REFUSALS else VaultError
        if kind is VaultError and response.status == 400 and reason.startswith(_VERSION_REQUIRED):
            kind = VersionRequiredError
        raise kind(text, response.status)


def _complaint(response: Response) -> str:
    """The errors of an answer, or its warnings: a path of the other engine version is answered with one."""
    found = decoded(response)
    texts = found.get("errors") or found.get("warnings")
    known = [each for each in texts if isinstance(each, str)] if isinstance(texts, list) else []
    return " ".join("; ".join(known).split())[:_LONGEST_SHOWN]


def decoded(response: Response) -> JsonObject:
    if response.body.count(b"{") + response.body.count(b"[") > _MOST_BRACKETS:
        return {}
    try:
        found: Any = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def member_of(response: Response, name: str) -> JsonObject:
    member = decoded(response).get(name)
    if not isinstance(member, dict):
        raise VaultError(f'the Vault\'s answer has no "{name}"')
    return member
