"""Tokens of service accounts: JWTs that the plane signs and verifies itself.

There is one algorithm (ES256) and one key; the algorithm in the token's header is not used. A token is valid while its
service account exists with the same UID and, if it is bound to a Pod, a Secret or a Node, while that exists.
`secret.py` has the rules for the tokens in Secrets, which the same key signs.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.server.access.tokens import secret as secret_tokens
from homeostat.server.access.tokens.secret import SecretClaims, secret_claims, secret_problem, secret_user
from homeostat.server.access.user import CREDENTIAL_ID, User, service_account_groups, service_account_name

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LIBRARY = "jwt"
"""It signs and verifies tokens. The import takes 50 ms, so callers that may be the first import it in a thread."""
DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"
BOUND_RESOURCES = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_ALGORITHM = "ES256"
_MAX_CHARS = 16_384
_LEEWAY_S = 60
_INVALID = "invalid bearer token"
_Shape = TypeVar("_Shape")

UidOf = Callable[[str, str, str], str | None]
"""The UID of an object by resource, namespace and name; None if it does not exist."""
Read = Callable[[str, str, str], JsonObject | None]
"""An object by resource, namespace and name; None if it does not exist."""


def may_be_signed(authorization: str) -> bool:
    """Whether the header may hold a token that has to be verified, which needs the library."""
    return authorization.count(".") >= 2


class InvalidTokenError(Exception):
    """The token is not accepted. The message may be shown to users who may review tokens."""


class Bound(NamedTuple):
    """The object that a token is bound to."""

    kind: str
    name: str
    uid: str


class _Ref(msgspec.Struct, frozen=True):
    name: str
    uid: str


class _Kubernetes(msgspec.Struct, frozen=True):
    namespace: str
    serviceaccount: _Ref
    pod: _Ref | None = None
    secret: _Ref | None = None
    node: _Ref | None = None


class _Claims(msgspec.Struct, frozen=True, rename={"kubernetes": "kubernetes.io"}):
    iss: str
    sub: str
    exp: int
    kubernetes: _Kubernetes
    aud: list[str] | str = []
    nbf: int = 0
    jti: str = ""


class Accepted(NamedTuple):
    user: User
    expires: float
    audiences: tuple[str, ...]
    """The requested audiences that the token is for."""
    is_remembered: bool = True
    """Whether the result may be cached for a moment."""


class AccountTokens:
    def __init__(
        self,
        read_key: Callable[[], bytes],
        *,
        uid_of: UidOf,
        read: Read,
        new_id: Callable[[], str],
        issuer: str = DEFAULT_ISSUER,
        note_use: Callable[[JsonObject], None] = lambda _: None,
    ) -> None:
        """The key is PEM, and read with the first token. `note_use` gets the Secret of each token that was accepted."""
        self._read_key = read_key
        self.uid_of = uid_of
        self.read = read
        self._new_id = new_id
        self.issuer = issuer
        self.audiences = (issuer,)
        self._note_use = note_use

    def mint(
        self,
        namespace: str,
        name: str,
        *,
        uid: str,
        now: float,
        life_s: int,
        audiences: Sequence[str] = (),
        bound: Bound | None = None,
    ) -> str:
        import jwt

        kubernetes: JsonObject = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        if bound is not None:
            kubernetes[bound.kind.lower()] = {"name": bound.name, "uid": bound.uid}
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": service_account_name(namespace, name),
            "aud": list(audiences or self.audiences),
            "iat": int(now),
            "nbf": int(now),
            "exp": int(now) + life_s,
            "jti": self._new_id(),
            "kubernetes.io": kubernetes,
        }
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"kid": self._key_id})

    def mint_for_secret(self, namespace: str, secret: str, name: str, uid: str) -> str:
        """A token that is valid as long as the Secret holds it."""
        import jwt

        claims = {"iss": secret_tokens.ISSUER, **secret_claims(namespace, secret, name, uid)}
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"kid": self._key_id})

    def verify(self, text: str, *, now: float, audiences: Sequence[str] = ()) -> Accepted:
        """`InvalidTokenError` unless we signed the token, it is in time, and for one of `audiences` (default: ours)."""
        decoded = self._decoded(text)
        wanted = audiences or self.audiences
        if decoded.get("iss") == secret_tokens.ISSUER:
            return self._verify_secret(text, decoded, wanted)
        claims = self._claims(decoded)
        meant = (claims.aud,) if isinstance(claims.aud, str) else tuple(claims.aud)
        accepted = tuple(each for each in wanted if each in meant)
        if not accepted:
            raise InvalidTokenError(f"token audiences {list(meant)} is invalid for the target audiences {list(wanted)}")
        if claims.exp <= now:
            raise InvalidTokenError("service account token has expired")
        if claims.nbf > now + _LEEWAY_S:
            raise InvalidTokenError("service account token is not valid yet")
        self._check_objects(claims.kubernetes)
        return Accepted(_user_of(claims), claims.exp, accepted)

    def jwks(self) -> JsonObject:
        """The public key, with which other services verify tokens."""
        numbers = self._key.public_key().public_numbers()
        return {
            "keys": [
                {
                    "use": "sig",
                    "kty": "EC",
                    "kid": self._key_id,
                    "crv": "P-256",
                    "alg": _ALGORITHM,
                    "x": _base64url(numbers.x.to_bytes(32)),
                    "y": _base64url(numbers.y.to_bytes(32)),
                }
            ]
        }

    def _decoded(self, text: str) -> dict[str, Any]:
        """The claims of a token that our key signed."""
        if text.count(".") != 2 or len(text) > _MAX_CHARS:
            raise InvalidTokenError(_INVALID)
        import jwt

        # Times and audiences are checked here, not by the library.
        options: Any = dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud"), False)
        try:
            return jwt.decode(text, self._key.public_key(), algorithms=[_ALGORITHM], options=options)
        except jwt.InvalidTokenError as error:
            raise InvalidTokenError(_INVALID) from error

    def _claims(self, decoded: dict[str, Any]) -> _Claims:
        claims = _convert(decoded, _Claims)
        account = claims.kubernetes.serviceaccount.name
        if claims.iss != self.issuer or claims.sub != service_account_name(claims.kubernetes.namespace, account):
            raise InvalidTokenError(_INVALID)
        return claims

    def _verify_secret(self, text: str, decoded: dict[str, Any], wanted: Sequence[str]) -> Accepted:
        """Such a token names no audience; it is for ours alone."""
        claims = _convert(decoded, SecretClaims)
        accepted = tuple(each for each in wanted if each in self.audiences)
        if not accepted:
            raise InvalidTokenError(f"token audiences [] is invalid for the target audiences {list(wanted)}")
        if not claims.are_complete:
            raise InvalidTokenError(_INVALID)
        secret = self.read("secrets", claims.namespace, claims.secret)
        account = self.read("serviceaccounts", claims.namespace, claims.account)
        if problem := secret_problem(claims, text, secret, account):
            raise InvalidTokenError(problem)
        if secret is not None:
            self._note_use(secret)
        # It never expires, so the deletion of its Secret has to end it at once.
        return Accepted(secret_user(claims), inf, accepted, is_remembered=False)

    def _check_objects(self, claims: _Kubernetes) -> None:
        namespace, account = claims.namespace, claims.serviceaccount
        if self.uid_of("serviceaccounts", namespace, account.name) != account.uid:
            raise InvalidTokenError(f"service account {namespace}/{account.name} has been deleted")
        for resource, scope, ref in (
            ("pods", namespace, claims.pod),
            ("secrets", namespace, claims.secret),
            ("nodes", "", claims.node),
        ):
            # A Pod's token may also name the Pod's node; only the bound object decides.
            if resource == "nodes" and claims.pod is not None:
                continue
            if ref is not None and self.uid_of(resource, scope, ref.name) != ref.uid:
                raise InvalidTokenError("service account token has been invalidated")

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        from homeostat.server.pki.keys import load_key

        return load_key(self._read_key())

    @cached_property
    def _key_id(self) -> str:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _base64url(sha256(public).digest())


def _convert(decoded: dict[str, Any], shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(decoded, shape)
    except msgspec.ValidationError as error:
        raise InvalidTokenError(_INVALID) from error


def _user_of(claims: _Claims) -> User:
    kubernetes = claims.kubernetes
    extra: dict[str, tuple[str, ...]] = {CREDENTIAL_ID: (f"JTI={claims.jti}",)} if claims.jti else {}
    for kind, ref in (("pod", kubernetes.pod), ("node", kubernetes.node)):
        if ref is not None:
            extra[f"authentication.kubernetes.io/{kind}-name"] = (ref.name,)
            extra[f"authentication.kubernetes.io/{kind}-uid"] = (ref.uid,)
    return User(
        claims.sub,
        uid=kubernetes.serviceaccount.uid,
        groups=service_account_groups(kubernetes.namespace),
        extra=extra,
    )


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
