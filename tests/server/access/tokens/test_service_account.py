from __future__ import annotations

import base64
from typing import Any

import jwt
import msgspec
import pytest

from homeostat.server.access.tokens.service_account import DEFAULT_ISSUER, AccountTokens, Bound, InvalidTokenError
from homeostat.server.access.user import AUTHENTICATED
from homeostat.server.pki.keys import load_key, new_key

NOW = 1_900_000_000.0
KEY = new_key()
OBJECTS = {
    ("serviceaccounts", "ci", "bot"): "sa-uid",
    ("pods", "ci", "web"): "pod-uid",
    ("pods", "ci", "other"): "other-uid",
    ("secrets", "ci", "key"): "secret-uid",
    ("nodes", "", "n1"): "node-uid",
}
PODS = {("pods", "ci", "web"): {"spec": {"serviceAccountName": "bot"}}}


def account_tokens(objects: dict[tuple[str, str, str], str] | None = None, *, key: bytes = KEY) -> AccountTokens:
    known = OBJECTS if objects is None else objects
    return AccountTokens(
        lambda: key, uid_of=lambda *where: known.get(where), read=lambda *where: PODS.get(where), new_id=lambda: "id-1"
    )


def minted(tokens: AccountTokens | None = None, **changes: Any) -> str:
    wanted: dict[str, Any] = {"uid": "sa-uid", "now": NOW, "life_s": 3600} | changes
    return (tokens or account_tokens()).mint("ci", "bot", **wanted)


def forged(changes: dict[str, Any], *, algorithm: str = "ES256", key: Any = None) -> str:
    """A token with claims and a signature of one's own choice."""
    claims = jwt.decode(minted(), options={"verify_signature": False}) | changes
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, load_key(KEY) if key is None else key, algorithm=algorithm)


def test_a_minted_token_is_its_service_account() -> None:
    accepted = account_tokens().verify(minted(), now=NOW)
    assert accepted.user.name == "system:serviceaccount:ci:bot"
    assert accepted.user.uid == "sa-uid"
    assert accepted.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", AUTHENTICATED)
    assert accepted.user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=id-1",)}
    assert accepted.expires == NOW + 3600
    assert accepted.audiences == (DEFAULT_ISSUER,)


def test_a_token_carries_kubernetes_claims() -> None:
    claims = jwt.decode(minted(bound=Bound("Pod", "web", "pod-uid")), options={"verify_signature": False})
    assert claims == {
        "iss": DEFAULT_ISSUER,
        "sub": "system:serviceaccount:ci:bot",
        "aud": [DEFAULT_ISSUER],
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 3600,
        "jti": "id-1",
        "kubernetes.io": {
            "namespace": "ci",
            "serviceaccount": {"name": "bot", "uid": "sa-uid"},
            "pod": {"name": "web", "uid": "pod-uid"},
        },
    }


def _unsigned(text: str) -> str:
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{header}.{text.split('.')[1]}."


def _with_payload(text: str, **changes: Any) -> str:
    head, payload, signature = text.split(".")
    claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "==")) | changes
    return f"{head}.{base64.urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b'=').decode()}.{signature}"


OTHER_ACCOUNT = {"namespace": "ci", "serviceaccount": {"name": "root", "uid": "sa-uid"}}
INVALID = {
    "another key": lambda: minted(account_tokens(key=new_key())),
    "a changed payload": lambda: _with_payload(minted(), sub="system:serviceaccount:kube-system:root"),
    "a changed expiry": lambda: _with_payload(minted(), exp=NOW + 10**6),
    "a cut signature": lambda: minted()[:-2],
    "no signature": lambda: minted().rpartition(".")[0] + ".",
    "algorithm none": lambda: _unsigned(minted()),
    "algorithm HS256": lambda: forged({}, algorithm="HS256", key="a-secret-that-is-at-least-32-bytes-long"),
    "another issuer": lambda: forged({"iss": "https://elsewhere"}),
    "no issuer": lambda: forged({"iss": None}),
    "no expiry": lambda: forged({"exp": None}),
    "a namespace that is a number": lambda: forged({"kubernetes.io": {"namespace": 1}}),
    "no account": lambda: forged({"kubernetes.io": None}),
    "a subject that is not the account": lambda: forged({"kubernetes.io": OTHER_ACCOUNT}),
    "two parts": lambda: "a.b",
    "not base64": lambda: "é.é.é",
    "empty parts": lambda: "..",
    "a very long text": lambda: "a" * 10_000 + "." + "b" * 10_000 + ".c",
    "nothing": lambda: "",
}


@pytest.mark.parametrize("make", INVALID.values(), ids=INVALID)
def test_a_token_that_we_did_not_sign_like_this_is_invalid(make: Any) -> None:
    with pytest.raises(InvalidTokenError, match=r"^invalid bearer token$"):
        account_tokens().verify(make(), now=NOW)


def test_a_token_expires_to_the_second() -> None:
    tokens, text = account_tokens(), minted(life_s=600)
    tokens.verify(text, now=NOW + 599)
    with pytest.raises(InvalidTokenError, match="has expired"):
        tokens.verify(text, now=NOW + 600)


def test_a_token_from_the_future_is_not_valid_yet() -> None:
    with pytest.raises(InvalidTokenError, match="not valid yet"):
        account_tokens().verify(minted(), now=NOW - 3600)


def test_a_token_for_another_audience_is_not_for_the_plane() -> None:
    tokens, text = account_tokens(), minted(audiences=["vault", "git"])
    with pytest.raises(InvalidTokenError, match="audiences"):
        tokens.verify(text, now=NOW)
    assert tokens.verify(text, now=NOW, audiences=["git", "mail"]).audiences == ("git",)


GONE = {
    "the account is deleted": (None, {}),
    "the account is a new one of the same name": (None, OBJECTS | {("serviceaccounts", "ci", "bot"): "new"}),
    "its Pod is deleted": (Bound("Pod", "web", "pod-uid"), {("serviceaccounts", "ci", "bot"): "sa-uid"}),
    "its Secret is another": (Bound("Secret", "key", "secret-uid"), OBJECTS | {("secrets", "ci", "key"): "new"}),
    "its Node is deleted": (Bound("Node", "n2", "uid"), OBJECTS),
}


@pytest.mark.parametrize(("bound", "objects"), GONE.values(), ids=GONE)
def test_a_token_dies_with_what_it_is_of(bound: Bound | None, objects: dict[tuple[str, str, str], str]) -> None:
    with pytest.raises(InvalidTokenError, match=r"deleted|invalidated"):
        account_tokens(objects).verify(minted(bound=bound), now=NOW)


def test_a_bound_token_names_its_pod() -> None:
    user = account_tokens().verify(minted(bound=Bound("Pod", "web", "pod-uid")), now=NOW).user
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("web",)
    assert user.extra["authentication.kubernetes.io/pod-uid"] == ("pod-uid",)


def test_others_can_verify_with_the_public_key() -> None:
    tokens = account_tokens()
    published = jwt.PyJWKSet.from_dict(tokens.jwks())
    text = minted(tokens)
    key = published[jwt.get_unverified_header(text)["kid"]]
    options: Any = {"verify_iat": False, "verify_nbf": False, "verify_exp": False}
    claims = jwt.decode(text, key, algorithms=["ES256"], audience=DEFAULT_ISSUER, options=options)
    assert claims["sub"] == "system:serviceaccount:ci:bot"
