"""Several servers on one control plane: what one promises, all keep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from homeostat.plane import Plane
from homeostat.testing.eventually import eventually
from tests.web.faces import ADMIN, Caller, open_face

ROUNDS = 6


@pytest.fixture
async def admins(plane: Plane) -> AsyncIterator[list[Caller]]:
    """One and the same administrator, at three servers."""
    async with AsyncExitStack() as stack:
        faces = [await stack.enter_async_context(open_face(plane.client, ADMIN)) for _ in range(3)]
        yield [await each.nobody.login("admin", "correct horse") for each in faces]


async def test_no_two_roles_get_one_name(admins: list[Caller]) -> None:
    for number in range(ROUNDS):
        body = {"name": f"role {number}"}
        told = await asyncio.gather(*(each.post("/custom-roles", body) for each in admins))
        assert [each.status for each in told].count(201) <= 1
        assert {each.status for each in told} <= {201, 409}
    listed = await admins[0].get("/custom-roles")
    names = [each["name"] for each in listed.body]
    assert len(names) == len(set(names))
    assert len({each["id"] for each in listed.body}) == len(names)


async def test_no_two_roles_are_renamed_to_one_name(admins: list[Caller]) -> None:
    for name in ("a", "b", "c"):
        assert (await admins[0].post("/custom-roles", {"name": name})).status == 201
    for each in admins:
        await eventually(lambda each=each: each.get("/custom-roles"), lambda told: len(told.body) == 3)  # type: ignore[misc]
    changes = (each.put(f"/custom-roles/{number}", {"name": "x"}) for number, each in enumerate(admins, 1))
    told = await asyncio.gather(*changes)
    assert [each.status for each in told].count(200) <= 1
    names = [each["name"] for each in (await admins[0].get("/custom-roles")).body]
    assert len(set(names)) == 3


async def test_an_administrator_is_left_whoever_demotes_whom(admins: list[Caller]) -> None:
    names = ["admin", "anna", "bert"]
    for name in names[1:]:
        form = {"username": name, "password": "correct horse", "is_admin": True}
        assert (await admins[0].post("/users", form)).status == 201
    for at, each in enumerate(admins):
        told = await eventually(lambda each=each: each.get("/users"), lambda told: len(told.body) == 3)  # type: ignore[misc]
        admins[at] = await each.login(names[at], "correct horse")
    numbers = [each["id"] for each in told.body]
    # Each demotes the next one.
    changes = (each.put(f"/users/{numbers[at % 3]}", {"is_admin": False}) for at, each in enumerate(admins, 1))
    assert {each.status for each in await asyncio.gather(*changes)} <= {200, 403, 409}
    assert 200 in [(await each.get("/users")).status for each in admins]


async def test_numbers_are_given_once(admins: list[Caller]) -> None:
    forms = [{"username": f"user-{number}", "password": "a password"} for number in range(12)]
    told = await asyncio.gather(*(admins[at % 3].post("/users", form) for at, form in enumerate(forms)))
    assert {each.status for each in told} == {201}
    assert len({each.body["id"] for each in told}) == 12


async def test_a_user_who_is_suspended_at_one_server_is_out_at_all(admins: list[Caller]) -> None:
    made = await admins[0].post("/users", {"username": "anna", "password": "a password"})
    anna = await eventually(lambda: admins[2].login("anna", "a password"))
    assert (await anna.get("/auth/me")).status == 200
    await admins[0].delete(f"/users/{made.body['id']}")
    await eventually(lambda: anna.get("/auth/me"), lambda told: told.status == 401)
