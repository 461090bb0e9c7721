"""Authentication at a registry: its challenges, and the tokens that it requires for each repository and action.

A token is requested once for each scope and cached until shortly before it expires. A password is sent to the registry,
or to the token server that the registry names, and only over TLS unless both are on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit

import msgspec

from homeostat.external.oci.errors import UnauthorizedError, UnexpectedResponseError
from homeostat.external.rest.auth import Auth
from homeostat.external.rest.request import Request, Sender
from homeostat.external.secrets.credentials import BearerToken
from homeostat.external.secrets.docker_config import RegistryCredential

_SHORTEST_LIFE_S: Final = 60.0
_EARLY_S: Final = 10.0
_MOST_TOKENS: Final = 1024
_LARGEST_TOKEN: Final = 1 << 20
_LONGEST_HEADER: Final = 16 << 10
# Possessive quantifiers, so that the time is linear in the length of a hostile header.
_scheme = re.compile(r"\s*+,?\s*+([A-Za-z][A-Za-z0-9-]*+)(?:\s++|$)(?!=)")
_parameter = re.compile(r'\s*+,?\s*+([A-Za-z][\w-]*+)\s*+=\s*+(?:"((?>(?:[^"\\]|\\.)*))"|([^\s",]*+))')


class Keychain(Protocol):
    """`DockerConfig` is one."""

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None: ...


@runtime_checkable
class SlowKeychain(Keychain, Protocol):
    """A keychain that may read files or run programs. `look_up` is `find`, without blocking the event loop."""

    async def look_up(self, registry: str, repository: str = "") -> RegistryCredential | None: ...


@dataclass(frozen=True, slots=True)
class OneCredential:
    """The same credential for every registry."""

    credential: RegistryCredential | None = None

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        return self.credential


ANONYMOUS: Final = OneCredential()


@dataclass(frozen=True, slots=True)
class Challenge:
    scheme: str
    """In lower case."""
    realm: str = ""
    service: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class _Kept:
    token: str = field(repr=False)
    until_s: float


class _Answer(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""
    expires_in: float = 0.0


def parse_challenges(header: str) -> list[Challenge]:
    """The challenges of a `WWW-Authenticate` header, up to the first unreadable part."""
    found, at, header = [], 0, header[:_LONGEST_HEADER]
    while scheme := _scheme.match(header, at):
        at = scheme.end()
        values: dict[str, str] = {}
        while parameter := _parameter.match(header, at):
            at = parameter.end()
            value = re.sub(r"\\(.)", r"\1", parameter[2]) if parameter[2] is not None else parameter[3]
            values.setdefault(parameter[1].lower(), value)
        chosen = {name: values.get(name, "") for name in ("realm", "service", "scope")}
        found.append(Challenge(scheme[1].lower(), **chosen))
    return found


class Authorizer:
    """Authenticates at one registry. `is_plain` says of a host and port whether it may be used without TLS."""

    def __init__(
        self,
        sender: Sender,
        keychain: Keychain,
        registry: str,
        *,
        is_plain: Callable[[str], bool],
        seconds: Callable[[], float],
    ) -> None:
        self._sender, self._keychain, self._registry = sender, keychain, registry
        self._is_plain, self._seconds = is_plain, seconds
        self._challenge: Challenge | None = None
        self._tokens: dict[tuple[str, ...], _Kept] = {}

    async def authorize(self, repository: str, scopes: tuple[str, ...]) -> Auth | None:
        """The credentials to send: none before the registry has sent a challenge."""
        credential = await self._credential(repository)
        if credential is not None and credential.registry_token:
            return BearerToken(credential.registry_token)
        match self._challenge:
            case Challenge("bearer") as challenge:
                return BearerToken(await self._token(challenge, credential, scopes))
            case Challenge("basic") if credential is not None:
                return credential.basic
        return None

    async def _credential(self, repository: str) -> RegistryCredential | None:
        if isinstance(self._keychain, SlowKeychain):
            return await self._keychain.look_up(self._registry, repository)
        return self._keychain.find(self._registry, repository)

    def learn(self, header: str, scopes: tuple[str, ...], sent: Auth | None) -> bool:
        """Reads the challenge of a 401 response to a request with `sent`. Returns whether to retry."""
        known = {each.scheme: each for each in reversed(parse_challenges(header))}
        self._challenge = known.get("bearer") or known.get("basic") or self._challenge
        kept = self._tokens.get(scopes)
        if kept is not None and sent == BearerToken(kept.token):
            del self._tokens[scopes]
        # Another request may have learned the challenge, or replaced the token, while this one was under way.
        return self._challenge is not None if sent is None else kept is not None

    async def _token(self, challenge: Challenge, credential: RegistryCredential | None, scopes: tuple[str, ...]) -> str:
        kept = self._tokens.get(scopes)
        if kept is not None and kept.until_s > self._seconds():
            return kept.token
        response = await self._sender.send(self._token_request(challenge, credential, scopes))
        if response.status in (400, 401, 403):
            advice = "" if credential else "; no credentials are given for it"
            raise UnauthorizedError(f"{self._registry}: its token server refused: HTTP {response.status}{advice}")
        if not response.is_success:
            raise UnexpectedResponseError(f"{self._registry}: its token server failed: HTTP {response.status}")
        answer = response.decode(_Answer)
        token = answer.token or answer.access_token
        if not token or any(not 32 < ord(each) < 127 for each in token):
            raise UnexpectedResponseError(f"{self._registry}: its token server sent no token")
        if len(self._tokens) >= _MOST_TOKENS:
            self._tokens.clear()
        life_s = max(answer.expires_in, _SHORTEST_LIFE_S) - _EARLY_S
        self._tokens[scopes] = _Kept(token, self._seconds() + life_s)
        return token

    def _token_request(
        self, challenge: Challenge, credential: RegistryCredential | None, scopes: tuple[str, ...]
    ) -> Request:
        parts = urlsplit(challenge.realm)
        is_plain = self._is_plain(self._registry) and self._is_plain(parts.netloc.rpartition("@")[2])
        if parts.scheme not in (("https", "http") if is_plain else ("https",)) or not parts.hostname:
            raise UnexpectedResponseError(f"{self._registry}: the token server that it names is not an https:// URL")
        fields = [("service", challenge.service)] if challenge.service else []
        if credential is not None and credential.identity_token:
            form = [*fields, ("grant_type", "refresh_token"), ("refresh_token", credential.identity_token)]
            body = urlencode([*form, ("client_id", "homeostat"), ("scope", " ".join(scopes))]).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            return Request("POST", challenge.realm, headers=headers, body=body, largest=_LARGEST_TOKEN, idempotent=True)
        query = urlencode([*fields, *(("scope", each) for each in scopes)])
        url = f"{challenge.realm}{'&' if parts.query else '?'}{query}"
        auth = credential.basic if credential is not None else None
        return Request("GET", url, auth=auth, largest=_LARGEST_TOKEN)
