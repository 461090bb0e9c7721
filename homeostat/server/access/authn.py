"""Authentication by client certificate, bearer token or service account token; without one, anonymous.

An invalid credential is refused and never treated as anonymous. A result is cached for a moment: a revoked token or a
deleted service account is noticed within `RECHECK_S`, an expiry to the second. Tokens in Secrets are not cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, NoReturn

from homeostat.objects.errors import UnauthorizedError
from homeostat.server.access.tokens.file import Tokens
from homeostat.server.access.tokens.service_account import Accepted, AccountTokens, InvalidTokenError
from homeostat.server.access.user import AUTHENTICATED, CREDENTIAL_ID, NOBODY, User
from homeostat.server.pki.certificate import read_certificate

RECHECK_S = 2.0
_MAX_REMEMBERED = 4096
_CREDENTIAL: Final = "credential"
_LONGEST_KEPT: Final = 4096
"""Characters of a credential that is kept for its connection."""


class _Proof(NamedTuple):
    """A cached authentication: the user, and the time during which it needs no new check."""

    user: User
    since: float
    until: float


class Authenticator:
    def __init__(
        self, *, tokens: Tokens, accounts: AccountTokens, clock: Callable[[], float], allows_anonymous: bool = True
    ) -> None:
        """`clock` returns seconds since the epoch."""
        self._tokens = tokens
        self._accounts = accounts
        self._clock = clock
        self._allows_anonymous = allows_anonymous
        self._by_certificate: dict[bytes, _Proof | None] = {}
        self._by_header: dict[bytes, _Proof] = {}

    def authenticate(
        self, headers: Mapping[str, str], certificate: bytes | None = None, connection: dict[str, Any] | None = None
    ) -> User:
        """The user of a call; `UnauthorizedError`. The certificate is DER that the TLS handshake has verified. With
        the cache of a connection, what its calls have in common is computed once.
        """
        if certificate is not None:
            user = self._of_certificate(certificate)
            if user is not None:
                return user
        authorization = headers.get("authorization")
        if authorization is not None:
            digest = _digest(authorization, connection)
            proof = self._by_header.get(digest)
            if proof is not None and proof.since <= self._clock() < proof.until:
                return proof.user
            token = _bearer(authorization)
            if token:
                return self._of_token(token, digest)
        return NOBODY if self._allows_anonymous else _refuse()

    def review(self, token: str, audiences: Sequence[str] = ()) -> Accepted:
        """The user of a bearer token, and which of the audiences it is for; `InvalidTokenError`."""
        now = self._clock()
        found = self._tokens.find(token, now=now)
        if found is None:
            return self._accounts.verify(token, now=now, audiences=audiences)
        # A token of the token file is for the plane's own audience only.
        own = self._accounts.audiences
        accepted = tuple(each for each in audiences or own if each in own)
        if not accepted:
            raise InvalidTokenError("the token is not for these audiences")
        return Accepted(*found, accepted)

    def _of_token(self, token: str, digest: bytes) -> User:
        now = self._clock()
        try:
            accepted = self.review(token)
        except InvalidTokenError:
            self._by_header.pop(digest, None)
            _refuse()
        if not accepted.is_remembered:
            return accepted.user
        _make_room(self._by_header)
        self._by_header[digest] = _Proof(accepted.user, now, min(accepted.expires, now + RECHECK_S))
        return accepted.user

    def _of_certificate(self, der: bytes) -> User | None:
        """The user that a certificate names; None if it names none."""
        try:
            proof = self._by_certificate[der]
        except KeyError:
            _make_room(self._by_certificate)
            proof = self._by_certificate[der] = _certified(der)
        if proof is None:
            return None
        # A connection may outlive the certificate that opened it.
        if not proof.since <= self._clock() < proof.until:
            _refuse()
        return proof.user


def _digest(authorization: str, connection: dict[str, Any] | None) -> bytes:
    known = None if connection is None else connection.get(_CREDENTIAL)
    # Texts are only compared if their hashes are equal, so the time that it takes shows nothing of another credential.
    if known is not None and known[0] == hash(authorization) and known[1] == authorization:
        digest: bytes = known[2]
        return digest
    digest = sha256(authorization.encode(errors="surrogatepass")).digest()
    if connection is not None and len(authorization) <= _LONGEST_KEPT:
        connection[_CREDENTIAL] = (hash(authorization), authorization, digest)
    return digest


def _certified(der: bytes) -> _Proof | None:
    try:
        certificate = read_certificate(der)
    except ValueError:
        return None
    if not certificate.common_name:
        return None
    user = User(
        certificate.common_name,
        groups=tuple(dict.fromkeys((*certificate.organizations, AUTHENTICATED))),
        extra={CREDENTIAL_ID: (f"X509SHA256={sha256(der).hexdigest()}",)},
    )
    return _Proof(user, certificate.not_before.timestamp(), certificate.not_after.timestamp())


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _make_room(remembered: dict[bytes, _Proof] | dict[bytes, _Proof | None]) -> None:
    if len(remembered) >= _MAX_REMEMBERED:
        remembered.clear()


def _refuse() -> NoReturn:
    raise UnauthorizedError("Unauthorized")
