from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import jwt
import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.access.tokens.service_account import DEFAULT_ISSUER, AccountTokens, InvalidTokenError
from homeostat.server.access.user import AUTHENTICATED
from homeostat.server.pki.keys import load_key, new_key

NOW = 1_900_000_000.0
KEY = new_key()
CLAIM = "kubernetes.io/serviceaccount/"
CLAIMS = {
    "iss": "kubernetes/serviceaccount",
    "sub": "system:serviceaccount:ci:bot",
    f"{CLAIM}namespace": "ci",
    f"{CLAIM}secret.name": "key",
    f"{CLAIM}service-account.name": "bot",
    f"{CLAIM}service-account.uid": "sa-uid",
}
World = dict[tuple[str, str, str], JsonObject]
SECRET, ACCOUNT = ("secrets", "ci", "key"), ("serviceaccounts", "ci", "bot")


def signed(changes: dict[str, str] | None = None, *, key: bytes = KEY) -> str:
    return jwt.encode(CLAIMS | (changes or {}), load_key(key), algorithm="ES256")


TOKEN = signed()


def world(token: str = TOKEN) -> World:
    data = {"token": b64encode(token.encode()).decode()}
    return {
        SECRET: {"metadata": {"name": "key"}, "type": "kubernetes.io/service-account-token", "data": data},
        ACCOUNT: {"metadata": {"name": "bot", "uid": "sa-uid"}},
    }


def tokens(objects: World) -> AccountTokens:
    return AccountTokens(
        lambda: KEY, uid_of=lambda *_: None, read=lambda *where: objects.get(where), new_id=lambda: "id"
    )


def test_a_token_in_a_secret_is_its_service_account_and_never_remembered() -> None:
    accepted = tokens(world()).verify(TOKEN, now=NOW)
    assert accepted.user.name == "system:serviceaccount:ci:bot"
    assert accepted.user.uid == "sa-uid"
    assert accepted.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", AUTHENTICATED)
    assert accepted.audiences == (DEFAULT_ISSUER,)
    assert not accepted.is_remembered


CHANGES: dict[str, Callable[[World], Any]] = {
    "the secret is deleted": lambda objects: objects.pop(SECRET),
    "the secret is terminating": lambda objects: objects[SECRET]["metadata"].update(deletionTimestamp="2030"),
    "the secret is of another type": lambda objects: objects[SECRET].update(type="Opaque"),
    "the secret has no data": lambda objects: objects[SECRET].pop("data"),
    "the secret has no token": lambda objects: objects[SECRET]["data"].clear(),
    "the secret has another token": lambda objects: objects[SECRET]["data"].update(token="YQ=="),
    "the secret has a part of the token": lambda objects: objects.update(world(TOKEN[:-1])),
    "the secret's data is not base64": lambda objects: objects[SECRET]["data"].update(token="@"),
    "the secret is marked invalid": lambda objects: objects[SECRET]["metadata"].update(
        labels={"kubernetes.io/legacy-token-invalid-since": "2030-01-01"}
    ),
    "the account is deleted": lambda objects: objects.pop(ACCOUNT),
    "the account is terminating": lambda objects: objects[ACCOUNT]["metadata"].update(deletionTimestamp="2030"),
    "the account was created again": lambda objects: objects[ACCOUNT]["metadata"].update(uid="other"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_token_in_a_secret_is_refused_when(change: Callable[[World], Any]) -> None:
    objects = world()
    change(objects)
    with pytest.raises(InvalidTokenError) as refused:
        tokens(objects).verify(TOKEN, now=NOW)
    assert TOKEN not in str(refused.value)


FORGED = {
    "another key signed it": signed(key=new_key()),
    "nobody signed it": jwt.encode(CLAIMS, "", algorithm="none"),
    "its subject is another account": signed({"sub": "system:serviceaccount:ci:boss"}),
    "it names no account": signed({f"{CLAIM}service-account.name": "", "sub": "system:serviceaccount:ci:"}),
    "it names no UID": signed({f"{CLAIM}service-account.uid": ""}),
    "it has another issuer": signed({"iss": "https://example.com"}),
}


@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED)
def test_a_forged_token_is_refused_though_a_secret_holds_it(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        tokens(world(token)).verify(token, now=NOW)


def test_a_token_in_a_secret_is_for_the_plane_alone() -> None:
    with pytest.raises(InvalidTokenError, match="audiences"):
        tokens(world()).verify(TOKEN, now=NOW, audiences=["vault"])
