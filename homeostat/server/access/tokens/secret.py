"""Tokens in Secrets of type `kubernetes.io/service-account-token`, which housekeeping or kube-controller-manager
fills in. Pure.

Such a token never expires. It is valid while its Secret holds exactly this text, and while its service account exists
with the same UID.
"""

from __future__ import annotations

import hmac
from base64 import b64decode

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.server.access.user import User, service_account_groups, service_account_name

ISSUER = "kubernetes/serviceaccount"
TYPE = "kubernetes.io/service-account-token"
_INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_CLAIM = "kubernetes.io/serviceaccount/"


class SecretClaims(
    msgspec.Struct,
    frozen=True,
    rename={
        "namespace": f"{_CLAIM}namespace",
        "secret": f"{_CLAIM}secret.name",
        "account": f"{_CLAIM}service-account.name",
        "account_uid": f"{_CLAIM}service-account.uid",
    },
):
    sub: str
    namespace: str
    secret: str
    account: str
    account_uid: str

    @property
    def are_complete(self) -> bool:
        is_named = bool(self.namespace and self.secret and self.account and self.account_uid)
        return is_named and self.sub == service_account_name(self.namespace, self.account)


def secret_claims(namespace: str, secret: str, account: str, uid: str) -> JsonObject:
    sub = service_account_name(namespace, account)
    found: JsonObject = msgspec.to_builtins(SecretClaims(sub, namespace, secret, account, uid))
    return found


def secret_problem(claims: SecretClaims, text: str, secret: JsonObject | None, account: JsonObject | None) -> str:
    """Why the token is not accepted, given its Secret and service account as they are stored; empty if it is."""
    if secret is None or _is_terminating(secret) or secret.get("type") != TYPE:
        return "service account token has been invalidated"
    if not hmac.compare_digest(_stored_token(secret), text.encode()):
        return "service account token does not match server's copy"
    if account is None or _is_terminating(account) or account["metadata"].get("uid") != claims.account_uid:
        return f"service account {claims.namespace}/{claims.account} has been deleted"
    if _INVALID_SINCE in (secret["metadata"].get("labels") or {}):
        return f"the token in secret {claims.namespace}/{claims.secret} has been marked invalid; create another secret"
    return ""


def secret_user(claims: SecretClaims) -> User:
    return User(claims.sub, uid=claims.account_uid, groups=service_account_groups(claims.namespace))


def _stored_token(secret: JsonObject) -> bytes:
    try:
        return b64decode((secret.get("data") or {}).get("token") or "", validate=True)
    except ValueError:
        return b""


def _is_terminating(obj: JsonObject) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))
