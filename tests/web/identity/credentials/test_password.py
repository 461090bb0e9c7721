"""Passwords and the time they take."""

from __future__ import annotations

import asyncio
from itertools import chain, count, repeat

import pytest

from homeostat.web.identity.credentials.password import BusyError, Cost, Passwords, is_match, make_hash, nobodys_hash

CHEAP = Cost(4, 8, 1)
NO_HASHES = {
    "nothing": "",
    "text": "swordfish",
    "another scheme": make_hash("swordfish", CHEAP).replace("scrypt", "bcrypt"),
    "no base64": "scrypt$4$8$1$***$***",
    "a cost that would stop the server": make_hash("swordfish", CHEAP).replace("$4$8$1$", "$40$8$1$"),
    "a negative cost": make_hash("swordfish", CHEAP).replace("$4$8$1$", "$-4$8$1$"),
    "a very long text": make_hash("swordfish", CHEAP) + "A" * 500,
    "a short hash": "scrypt$4$8$1$AAAA$AAAA",
}


def test_a_password_matches_its_hash_and_no_other_does() -> None:
    kept = make_hash("swordfish", CHEAP)
    assert is_match("swordfish", kept)
    assert not is_match("Swordfish", kept)
    assert "swordfish" not in kept


def test_one_password_has_another_hash_each_time() -> None:
    assert make_hash("swordfish", CHEAP) != make_hash("swordfish", CHEAP)


@pytest.mark.parametrize(
    ("cost", "is_acceptable"),
    [
        (Cost(), True),
        (Cost(16, 8, 4), True),
        (Cost(17, 8, 1), False),
        (Cost(15, 8, 13), False),
        (Cost(18, 16, 8), False),
        (Cost(1, 1024, 1024), False),
        (Cost(0, 8, 1), False),
        (Cost(4, 0, 1), False),
        (Cost(10**9, 8, 1), False),
    ],
    ids=str,
)
def test_a_stored_hash_costs_at_most_64_mib_and_four_times_the_default(cost: Cost, is_acceptable: bool) -> None:
    assert cost.is_acceptable is is_acceptable


@pytest.mark.parametrize("cost", ["$18$16$8$", "$16$8$12$"])
def test_a_stored_hash_that_costs_too_much_is_not_computed(cost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Cost] = []
    monkeypatch.setattr(Cost, "hash", lambda self, *_: computed.append(self))
    assert not is_match("swordfish", nobodys_hash(CHEAP).replace("$4$8$1$", cost))
    assert computed == []


@pytest.mark.parametrize("kept", NO_HASHES.values(), ids=NO_HASHES)
def test_what_is_no_hash_matches_nothing(kept: str) -> None:
    assert not is_match("swordfish", kept)


def test_a_usual_hash_takes_32_mib_three_times_and_says_so() -> None:
    kept = make_hash("swordfish")
    assert kept.startswith("scrypt$15$8$3$")
    assert is_match("swordfish", kept)


def test_no_password_matches_the_hash_of_no_password() -> None:
    assert not is_match("", nobodys_hash(CHEAP))


async def test_without_a_hash_nothing_matches() -> None:
    passwords = Passwords(CHEAP)
    assert not await passwords.check("swordfish", None)
    assert not await passwords.check("swordfish", "")
    assert await passwords.check("swordfish", await passwords.hash("swordfish"))
    passwords.close()


async def test_a_line_that_is_too_long_is_refused() -> None:
    passwords = Passwords(Cost(10, 8, 1))
    found = await asyncio.gather(*(passwords.hash("x") for _ in range(80)), return_exceptions=True)
    assert sum(isinstance(each, BusyError) for each in found) == 80 - 64
    assert is_match("x", await passwords.hash("x"))
    passwords.close()


async def test_of_150_logins_at_once_those_that_would_wait_too_long_are_refused_at_once() -> None:
    moments = chain([0.0, 0.0, 4.0], repeat(4.0))
    passwords = Passwords(CHEAP, clock=lambda: next(moments))
    await passwords.hash("one that takes 4 s")
    answers = await asyncio.gather(*(passwords.check("swordfish", None) for _ in range(150)), return_exceptions=True)
    assert answers.count(False) == 6
    assert sum(isinstance(each, BusyError) for each in answers) == 144
    passwords.close()


async def test_whoever_waited_in_line_for_too_long_is_refused_without_a_hash() -> None:
    moments = count(0.0, 11.0)
    passwords = Passwords(CHEAP, clock=lambda: next(moments))
    with pytest.raises(BusyError):
        await passwords.check("swordfish", None)
    passwords.close()
