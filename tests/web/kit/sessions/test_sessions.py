"""Sessions of browsers: a copied cookie ends with its session, for every replica and after a restart."""

from __future__ import annotations

import asyncio
import base64
import random
import zlib

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from homeostat.plane import Plane
from homeostat.runtime.faces.private import NamespaceSecrets, PrivateSecrets
from homeostat.web.kit.refusal import RefusalError
from homeostat.web.kit.sessions.cookie import LONGEST_TOKEN
from homeostat.web.kit.sessions.ended import MOST_IN_ALL, MOST_OF_USER, RECHECK_S, Ended, limited
from homeostat.web.kit.sessions.sessions import KEY_NAME, Sessions

LIFE_S = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["plane", "namespace"])
def private(request: pytest.FixtureRequest, plane: Plane) -> PrivateSecrets:
    return plane.private if request.param == "plane" else NamespaceSecrets(plane.client, "kube-system")


def replica(private: PrivateSecrets, clock: Clock) -> Sessions:
    return Sessions(private, life_s=LIFE_S, now=clock, clock=clock)


async def test_an_ended_session_is_refused_everywhere(private: PrivateSecrets) -> None:
    clock = Clock()
    here, there = replica(private, clock), replica(private, clock)
    first, second = await here.start("token-a", user="ann"), await there.start("token-a", user="ann")
    for each in (here, there):
        assert [await each.token(value) for value in (first, second)] == ["token-a", "token-a"]
    await here.end(first)
    await here.end(first)
    assert await here.token(first) == ""
    clock.now += RECHECK_S
    assert [await there.token(value) for value in (first, second)] == ["", "token-a"]
    restarted = replica(private, clock)
    assert [await restarted.token(value) for value in (first, second)] == ["", "token-a"]
    clock.now += LIFE_S
    assert await there.token(second) == ""


class Slow:
    """Answers a read with what was stored when it was asked, once it may."""

    def __init__(self, inner: PrivateSecrets) -> None:
        self._inner = inner
        self.has_read, self.may_answer = asyncio.Event(), asyncio.Event()

    async def read(self, name: str) -> bytes | None:
        found = await self._inner.read(name)
        if not self.has_read.is_set():
            self.has_read.set()
            await self.may_answer.wait()
        return found

    async def create(self, name: str, value: bytes) -> bytes:
        return await self._inner.create(name, value)

    async def replace(self, name: str, old: bytes, new: bytes) -> bytes:
        return await self._inner.replace(name, old, new)

    async def delete(self, name: str) -> None:
        await self._inner.delete(name)


async def test_a_list_that_was_read_before_a_session_ended_does_not_let_it_in_again(plane: Plane) -> None:
    clock, slow = Clock(), Slow(plane.private)
    value = await replica(plane.private, clock).start("token", user="ann")
    sessions = replica(slow, clock)
    sessions._key = await plane.private.read(KEY_NAME) or b""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sessions.token(value))
        await slow.has_read.wait()
        await sessions.end(value)
        slow.may_answer.set()
    assert await sessions.token(value) == ""


async def test_a_session_that_ended_is_refused_while_another_one_ends(plane: Plane) -> None:
    clock, slow = Clock(), Slow(plane.private)
    slow.has_read.set()
    sessions = replica(slow, clock)
    one, two = await sessions.start("token", user="ann"), await sessions.start("token", user="ann")
    assert await sessions.token(one) == "token"
    slow.has_read.clear()
    async with asyncio.TaskGroup() as tasks:
        ending = tasks.create_task(sessions.end(one))
        await slow.has_read.wait()
        await sessions.end(two)
        slow.may_answer.set()
        while not ending.done():
            assert await sessions.token(two) == ""
            await asyncio.sleep(0)
    assert [await sessions.token(each) for each in (one, two)] == ["", ""]


async def test_replicas_that_end_sessions_at_once_end_all(private: PrivateSecrets) -> None:
    clock = Clock()
    replicas = [replica(private, clock) for _ in range(4)]
    values = [await each.start("token", user="ann") for each in replicas]
    await asyncio.gather(*(each.end(value) for each, value in zip(replicas, values, strict=True)))
    restarted = replica(private, clock)
    assert [await restarted.token(value) for value in values] == [""] * 4


async def test_only_values_of_this_server_are_sessions(plane: Plane) -> None:
    clock = Clock()
    sessions = replica(plane.private, clock)
    assert await sessions.token("token") == ""
    value = await sessions.start("token", user="ann")
    assert "token" not in value
    for other in (value[:-2], value[2:], value.swapcase(), f"{value}AAAA", "token", "é", "A" * 40):
        assert await sessions.token(other) == "", other
        await sessions.end(other)
    assert await sessions.token(value) == "token"


@pytest.mark.parametrize("content", [b"plain", zlib.compress(b"{"), zlib.compress(b"[1]"), zlib.compress(b"\xff")])
async def test_a_session_that_cannot_be_read_is_none(plane: Plane, content: bytes) -> None:
    sessions = replica(plane.private, Clock())
    await sessions.start("token", user="ann")
    key = await plane.private.read(KEY_NAME)
    assert key is not None
    nonce = bytes(12)
    sealed = nonce + AESGCM(key).encrypt(nonce, content, b"homeostat browser session")
    assert await sessions.token(base64.urlsafe_b64encode(sealed).decode().rstrip("=")) == ""


async def test_a_key_that_was_replaced_is_read_again(plane: Plane) -> None:
    clock = Clock()
    here, there = replica(plane.private, clock), replica(plane.private, clock)
    old = await here.start("token", user="ann")
    assert await here.token("A" * 40) == ""
    await plane.private.delete(KEY_NAME)
    new = await there.start("token", user="ann")
    # Not for every value that anybody sends.
    assert [await here.token(each) for each in (old, new)] == ["token", ""]
    clock.now += RECHECK_S
    assert [await here.token(each) for each in (new, old)] == ["token", ""]


async def test_a_token_that_fits_into_a_cookie_is_accepted_and_a_longer_one_refused(plane: Plane) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sessions, chance = replica(plane.private, Clock()), random.Random(1)
    token = "".join(chance.choices(letters, k=LONGEST_TOKEN))
    assert await sessions.token(await sessions.start(token, user="ann")) == token
    with pytest.raises(RefusalError, match="too long"):
        await sessions.start("".join(chance.choices(letters, k=5000)), user="ann")


def ended(user: str, number: int) -> Ended:
    return Ended(user, float(number), number + LIFE_S, f"{user}-{number}")


def test_beyond_the_limit_of_a_user_their_older_sessions_count_as_ended() -> None:
    listed = [ended("ben", 0)]
    for number in range(MOST_OF_USER + 1):
        listed = limited([*listed, ended("ann", number)], 0.0)
    floors = [each for each in listed if not each.id]
    assert [(each.user, each.began) for each in floors] == [("ann", MOST_OF_USER // 2)]
    assert {each.id for each in listed if each.id} == {
        "ben-0",
        *(f"ann-{number}" for number in range(MOST_OF_USER // 2 + 1, MOST_OF_USER + 1)),
    }
    assert limited(listed, LIFE_S * 2) == []


def test_beyond_the_limit_of_all_older_sessions_of_everybody_count_as_ended() -> None:
    listed = [ended(f"user{number}", number) for number in range(MOST_IN_ALL + 1)]
    kept = limited(listed, 0.0)
    (floor,) = (each for each in kept if not each.id)
    assert (floor.user, floor.began) == ("", MOST_IN_ALL // 2)
    assert {each.began for each in listed if each not in kept} == {float(each) for each in range(MOST_IN_ALL // 2 + 1)}
    assert max(each.expires for each in listed) == floor.expires
