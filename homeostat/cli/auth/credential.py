"""What is known of a credential that a server refused: where it is from, and whether it has expired."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from datetime import UTC, datetime
from typing import Final

import msgspec

from homeostat.client.endpoint.endpoint import Endpoint

_OURS: Final = "hst-"
_RENEW: Final = "; create a new one (homeostat token create, or homeostat auth token for a service account)"
_ANOTHER: Final = ", or choose another context with --context"


class _Claims(msgspec.Struct, frozen=True):
    exp: float | None = None


def refused_credential(endpoint: Endpoint, source: str) -> str:
    """What to add to `Unauthorized`. `source` names the kubeconfig. The credential itself is never shown."""
    if endpoint.plugin is not None:
        return (
            f"the server does not accept the credential of the program {endpoint.plugin.command}, which {source} "
            f"names; log in again with that program{_ANOTHER}"
        )
    if endpoint.token_file is not None:
        return f"the server does not accept the token in {endpoint.token_file}, which {source} names{_RENEW}{_ANOTHER}"
    if endpoint.token:
        return f"the server does not accept the token of {source}{_why_token(endpoint.token)}{_RENEW}{_ANOTHER}"
    if endpoint.certificate is not None:
        return (
            f"the server does not accept the certificate of {source}{_why_certificate(endpoint.certificate)}; get the "
            f"kubeconfig again (homeostat kubeconfig){_ANOTHER}"
        )
    return f"{source} has no credential for {endpoint.server}; choose another kubeconfig with --kubeconfig{_ANOTHER}"


def _why_token(token: str) -> str:
    """A JSON Web Token has its expiry; another token is known to the server alone."""
    if token.startswith(_OURS):
        return ", which expired, was revoked or is of another plane (on its machine: homeostat token list)"
    parts = token.split(".")
    try:
        payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return _expired(msgspec.json.decode(payload, type=_Claims).exp)
    except (IndexError, Base64Error, ValueError, msgspec.MsgspecError):
        return ""


def _why_certificate(pem: bytes) -> str:
    from cryptography.x509 import load_pem_x509_certificate

    try:
        return _expired(load_pem_x509_certificate(pem).not_valid_after_utc.timestamp())
    except ValueError:
        return ""


def _expired(at: float | None) -> str:
    if at is None or at > time.time():
        return ""
    return f", which expired at {datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
