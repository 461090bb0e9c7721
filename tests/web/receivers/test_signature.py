"""Proofs of senders."""

from __future__ import annotations

import base64
import hmac

import pytest

from homeostat.web.receivers.signature import Delivery, Prove, by_gitea, by_github, by_gitlab, by_token, is_proven

SECRET = "a secret of some length"
BODY = b'{"a": 1}'
NOW = 1_780_920_000
HEX = hmac.new(SECRET.encode(), BODY, "sha256").hexdigest()


def delivery(query: str = "", body: bytes = BODY, **headers: str) -> Delivery:
    return Delivery({name.replace("_", "-"): value for name, value in headers.items()}, query, body, float(NOW))


def standard(moment: int = NOW, body: bytes = BODY, key: bytes = SECRET.encode()) -> Delivery:
    proof = base64.b64encode(hmac.digest(key, b"id-1.%d.%b" % (moment, BODY), "sha256")).decode()
    return delivery(body=body, webhook_id="id-1", webhook_timestamp=str(moment), webhook_signature=f"v2,x v1,{proof}")


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"user:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("prove", "given", "expected"),
    [
        (by_github, delivery(x_hub_signature_256=f"sha256={HEX}"), True),
        (by_github, delivery(x_hub_signature_256=f"sha256={HEX}", body=BODY + b" "), False),
        (by_github, delivery(x_hub_signature=f"sha1={HEX}"), False),
        (by_github, delivery(), False),
        (by_gitea, delivery(x_gitea_signature=HEX), True),
        (by_gitea, delivery(x_forgejo_signature=HEX), True),
        (by_gitea, delivery(x_hub_signature_256=f"sha256={HEX}"), True),
        (by_gitea, delivery(x_gitea_signature="00"), False),
        (by_gitlab, delivery(x_gitlab_token=SECRET), True),
        (by_gitlab, delivery(x_gitlab_token="other"), False),
        (by_gitlab, standard(), True),
        (by_gitlab, standard(body=b"{}"), False),
        (by_gitlab, standard(NOW - 301), False),
        (by_gitlab, standard(NOW + 301), False),
        (by_gitlab, delivery(webhook_signature="v1,x", webhook_timestamp="now", x_gitlab_token=SECRET), False),
        (by_token, delivery(authorization=f"Bearer {SECRET}"), True),
        (by_token, delivery(authorization=SECRET), True),
        (by_token, delivery(authorization=basic(SECRET)), True),
        (by_token, delivery("token=a%20secret+of+some+length"), True),
        (by_token, delivery(authorization="Bearer other"), False),
        (by_token, delivery(authorization="Basic ?"), False),
        (by_token, delivery("token="), False),
        (by_token, delivery(), False),
    ],
)
def test_a_proof_is_checked(prove: Prove, given: Delivery, expected: bool) -> None:
    assert prove(given, SECRET) is expected


def test_each_of_several_secrets_is_valid_and_none_is_not() -> None:
    given = delivery(authorization=f"Bearer {SECRET}")
    assert is_proven(by_token, given, ["another secret of it", SECRET])
    assert not is_proven(by_token, given, ["another secret of it"])
    assert not is_proven(by_token, given, [])
    assert not is_proven(by_token, delivery(authorization=""), [""])


def test_a_secret_of_standard_webhooks_is_base64_behind_a_prefix() -> None:
    key = b"0123456789abcdef01234567"
    assert by_gitlab(standard(key=key), "whsec_" + base64.b64encode(key).decode())
    assert not by_gitlab(standard(key=key), "whsec_" + base64.b64encode(key[::-1]).decode())
