"""Tokens that are given at login, and the key behind them."""

from __future__ import annotations

import jwt
import pytest

from homeostat.external.environment import SettingError
from homeostat.plane import Plane
from homeostat.web.identity.credentials.token import (
    TokenError,
    Tokens,
    expiry_hours,
    load_key,
)

KEY = b"k" * 32
CLAIMS = {"sub": "7", "username": "anna", "is_admin": False, "source": "manual", "custom_role_id": None}
FOREIGN = {
    "nothing": "",
    "text": "swordfish",
    "another key": jwt.encode({**CLAIMS, "exp": 2e9, "iat": 1}, "x" * 32, "HS256"),
    "another algorithm": jwt.encode({**CLAIMS, "exp": 2e9, "iat": 1}, "k" * 64, "HS512"),
    "no algorithm": jwt.encode({**CLAIMS, "exp": 2e9, "iat": 1}, "", "none"),
    "without an end": jwt.encode({**CLAIMS, "iat": 1}, KEY, "HS256"),
    "without a name": jwt.encode({"sub": "7", "exp": 2e9, "iat": 1}, KEY, "HS256"),
    "an end that is no time": jwt.encode({**CLAIMS, "exp": "soon", "iat": 1}, KEY, "HS256"),
    "an end that is endless": jwt.encode({**CLAIMS, "exp": float("inf"), "iat": 1}, KEY, "HS256"),
    "an end that is no number": jwt.encode({**CLAIMS, "exp": float("nan"), "iat": 1}, KEY, "HS256"),
    "an end after all times": jwt.encode({**CLAIMS, "exp": 1e308, "iat": 1}, KEY, "HS256"),
    "issued at no number": jwt.encode({**CLAIMS, "exp": 2e9, "iat": float("nan")}, KEY, "HS256"),
    "very long": jwt.encode({**CLAIMS, "exp": 2e9, "iat": 1, "x": "x" * 9000}, KEY, "HS256"),
}


def test_a_token_has_the_claims_that_clients_know() -> None:
    made = Tokens(KEY, hours=2, now=lambda: 1000.0).make(CLAIMS)
    found = jwt.decode(made, KEY, ["HS256"], options={"verify_exp": False})
    assert found == {**CLAIMS, "iat": 1000, "exp": 1000 + 2 * 3600}


def test_a_token_is_read_back() -> None:
    tokens = Tokens(KEY, now=lambda: 1000.0)
    claims = tokens.read(tokens.make(CLAIMS))
    assert claims is not None
    assert (claims.sub, claims.username, claims.iat) == ("7", "anna", 1000)


def test_a_token_may_lack_the_time_at_which_it_was_issued() -> None:
    claims = Tokens(KEY).read(jwt.encode({**CLAIMS, "exp": 2e9}, KEY, "HS256"))
    assert claims is not None
    assert claims.iat == 0


def test_a_token_ends() -> None:
    made = Tokens(KEY, hours=1, now=lambda: 1000.0).make(CLAIMS)
    assert Tokens(KEY, now=lambda: 4599.0).read(made) is not None
    with pytest.raises(TokenError, match="expired"):
        Tokens(KEY, now=lambda: 4601.0).read(made)


@pytest.mark.parametrize("token", FOREIGN.values(), ids=FOREIGN)
def test_what_we_did_not_sign_is_not_ours(token: str) -> None:
    assert Tokens(KEY).read(token) is None


@pytest.mark.parametrize(("told", "hours"), [("", 24), ("1", 1), ("0.5", 0.5)])
def test_how_long_tokens_last_is_a_setting(told: str, hours: float) -> None:
    assert expiry_hours({"JWT_EXPIRY_HOURS": told}) == hours


@pytest.mark.parametrize("told", ["0", "-1", "day", "nan", "inf", "1e9"])
def test_a_life_that_is_none_is_refused(told: str) -> None:
    with pytest.raises(SettingError, match="JWT_EXPIRY_HOURS"):
        expiry_hours({"JWT_EXPIRY_HOURS": told})


async def test_a_key_is_made_once_and_all_servers_have_it(plane: Plane) -> None:
    first = await load_key(plane.private, {})
    assert len(first) == 32
    assert await load_key(plane.private, {}) == first


async def test_the_key_of_the_environment_counts(plane: Plane) -> None:
    assert await load_key(plane.private, {"JWT_SECRET_KEY": "s" * 40}) == b"s" * 40


async def test_a_key_that_can_be_guessed_is_refused(plane: Plane) -> None:
    with pytest.raises(SettingError, match="openssl rand") as caught:
        await load_key(plane.private, {"JWT_SECRET_KEY": "secret123"})
    assert "secret123" not in str(caught.value)
