"""Proof that a webhook comes from who knows the secret: a signature of the body, or the secret itself. Pure.

| sender | proof |
|---|---|
| GitHub | `X-Hub-Signature-256`: HMAC-SHA256 of the body |
| Gitea, Forgejo | `X-Gitea-Signature` or `X-Forgejo-Signature`: the same, or that of GitHub |
| any other | `X-Signature`: HMAC-SHA256 of the body |
| GitLab | `webhook-signature`: HMAC-SHA256 of id, time and body, not older than five minutes; or `X-Gitlab-Token` |
| registries | `Authorization: Bearer`, the password of `Basic`, or the header as it is; or `?token=` in the URL |

Registries sign nothing, so the secret itself is their proof, and TLS has to protect it. Everything is compared in
constant time. Several secrets may be valid at once, so that one can be replaced without losing a webhook.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import parse_qs

import msgspec

from homeostat.web.receivers.push import Headers

TOLERANCE_S: Final = 300.0
_STANDARD_PREFIX: Final = "whsec_"


class Delivery(msgspec.Struct, frozen=True):
    """A webhook as it came. `now_s` is the time, in seconds since 1970."""

    headers: Headers
    query: str
    body: bytes
    now_s: float


Prove = Callable[[Delivery, str], bool]
"""Whether a delivery proves that its sender knows the secret."""


def is_proven(prove: Prove, delivery: Delivery, secrets: Sequence[str]) -> bool:
    """All secrets are tried, so that the time does not show which one matched."""
    return True in [prove(delivery, each) for each in secrets if each]


def by_github(delivery: Delivery, secret: str) -> bool:
    return _is_signed(delivery, secret, delivery.headers.get("x-hub-signature-256", "").removeprefix("sha256="))


def by_gitea(delivery: Delivery, secret: str) -> bool:
    names = ("x-gitea-signature", "x-forgejo-signature", "x-gogs-signature")
    given = next((delivery.headers[each] for each in names if delivery.headers.get(each)), "")
    return _is_signed(delivery, secret, given) if given else by_github(delivery, secret)


def by_generic(delivery: Delivery, secret: str) -> bool:
    """`X-Signature`, for a sender of one's own."""
    return _is_signed(delivery, secret, delivery.headers.get("x-signature", "").removeprefix("sha256="))


def by_gitlab(delivery: Delivery, secret: str) -> bool:
    if "webhook-signature" in delivery.headers:
        return _is_standard(delivery, secret)
    return _equal(delivery.headers.get("x-gitlab-token", ""), secret)


def by_token(delivery: Delivery, secret: str) -> bool:
    header = delivery.headers.get("authorization", "")
    scheme, _, value = header.strip().partition(" ")
    given = [header, value if scheme.lower() == "bearer" else "", _password(value) if scheme.lower() == "basic" else ""]
    given += parse_qs(delivery.query).get("token", [""])[-1:]
    return True in [_equal(each, secret) for each in given]


def _is_signed(delivery: Delivery, secret: str, given: str) -> bool:
    return _equal(given.lower(), hmac.new(secret.encode(), delivery.body, "sha256").hexdigest())


def _is_standard(delivery: Delivery, secret: str) -> bool:
    """As standardwebhooks.com specifies; the time is part of what is signed, so an old delivery is not valid again."""
    headers = delivery.headers
    number, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not moment.isascii() or not moment.isdecimal() or abs(int(moment[:12]) - delivery.now_s) > TOLERANCE_S:
        return False
    signed = b"%b.%b.%b" % (number.encode(), moment.encode(), delivery.body)
    proofs = [each.partition(",")[2] for each in headers["webhook-signature"].split() if each.startswith("v1,")]
    expected = [base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in _keys(secret)]
    return True in [_equal(proof, each) for proof in proofs[:8] for each in expected]


def _keys(secret: str) -> list[bytes]:
    """A secret of that specification is base64 behind a prefix; any other text is the key itself."""
    if secret.startswith(_STANDARD_PREFIX):
        try:
            return [base64.b64decode(secret.removeprefix(_STANDARD_PREFIX), validate=True), secret.encode()]
        except binascii.Error:
            pass
    return [secret.encode()]


def _password(value: str) -> str:
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _equal(given: str, expected: str) -> bool:
    return bool(given) and hmac.compare_digest(given.encode(), expected.encode())
