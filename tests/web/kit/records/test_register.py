"""Records by their numbers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ID
from homeostat.plane import Plane
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.web.identity.api import KINDS, REST_ROLE, RestRoleSpec
from homeostat.web.identity.records import Role
from homeostat.web.kit.records.register import Register
from homeostat.web.kit.refusal import RefusalError
from tests.operators.policy.test_live_faults import Obstacle

PATH = REST_ROLE.kind.path("default")


@asynccontextmanager
async def open_register(client: Client) -> AsyncIterator[Register[Role]]:
    await install(client, KINDS)
    informers = Informers(client)
    register = Register(client, informers, REST_ROLE, Role, namespace="default")
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(informers.run()), tasks.create_task(register.numbering())]
        await register.ready()
        yield register
        for each in running:
            each.cancel()


@pytest.fixture
async def roles(plane: Plane) -> AsyncIterator[Register[Role]]:
    async with open_register(plane.client) as register:
        yield register


def declared(name: str, **labels: str) -> JsonObject:
    metadata = {"name": name, "labels": labels}
    kind = REST_ROLE.kind
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {"name": name}}


async def test_a_write_that_returned_is_seen(roles: Register[Role]) -> None:
    for number in range(1, 20):
        role = await roles.add(f"role-{number}", RestRoleSpec(name=f"r{number}"), number=number)
        assert roles.find(number) == role
        await roles.edit(role, lambda spec: replace(spec, description="x"))
        found = roles.find(number)
        assert found is not None
        assert found.spec.description == "x"
        await roles.remove(role)
        assert roles.find(number) is None


async def test_a_taken_name_is_a_conflict(roles: Register[Role]) -> None:
    await roles.add("a", RestRoleSpec(name="a"), number=1)
    with pytest.raises(AlreadyExistsError):
        await roles.add("a", RestRoleSpec(name="b"), number=2)


async def test_an_edit_loses_nothing_that_others_wrote(roles: Register[Role], plane: Plane) -> None:
    role = await roles.add("a", RestRoleSpec(name="a"), number=1)
    await plane.client.merge(f"{PATH}/a", {"spec": {"description": "theirs"}, "metadata": {"annotations": {"x": "y"}}})
    await roles.edit(role, lambda spec: replace(spec, name="ours"))
    found = await plane.client.get(f"{PATH}/a")
    assert (found["spec"]["name"], found["spec"]["description"]) == ("ours", "theirs")
    assert found["metadata"]["annotations"] == {"x": "y"}


async def test_edits_at_the_same_moment_all_count(roles: Register[Role]) -> None:
    role = await roles.add("a", RestRoleSpec(name="a"), number=1)
    add = lambda spec: replace(spec, description=spec.description + "x")  # noqa: E731
    await asyncio.gather(*(roles.edit(role, add) for _ in range(4)))
    found = roles.find(1)
    assert found is not None
    assert found.spec.description == "xxxx"


async def test_a_record_that_is_gone_cannot_be_edited_and_can_be_removed_again(roles: Register[Role]) -> None:
    role = await roles.add("a", RestRoleSpec(name="a"), number=1)
    await roles.remove(role)
    await roles.remove(role)
    with pytest.raises(NotFoundError):
        await roles.edit(role, lambda spec: spec)


async def test_what_came_without_a_number_is_given_one(roles: Register[Role], plane: Plane) -> None:
    await plane.client.create(PATH, declared("by-hand"))
    await plane.client.create(PATH, declared("with-nonsense", **{ID: "many"}))
    found = await eventually(lambda: list(roles), lambda found: len(found) == 2)
    assert [each.number for each in found] == [1, 2]


async def test_a_number_that_an_older_record_has_is_replaced(roles: Register[Role], plane: Plane) -> None:
    older = await roles.add("a", RestRoleSpec(name="a"), number=await roles.take_number())
    await asyncio.sleep(1.1)
    await plane.client.create(PATH, declared("copy", **{ID: "1"}))
    await eventually(lambda: [each.number for each in roles], lambda found: found == [1, 2])
    found = roles.find(1)
    assert found is not None
    assert found.name == older.name


async def test_numbers_continue_where_the_counter_was_lost(roles: Register[Role], plane: Plane) -> None:
    await plane.client.create(PATH, declared("known", **{ID: "41"}))
    await eventually(lambda: roles.find(41))
    assert await roles.take_number() == 42


async def test_what_is_not_known_yet_is_503_and_not_nothing(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.web.kit.records.register._SEEN_WITHIN_S", 0.05)
    register = Register(plane.client, Informers(plane.client), REST_ROLE, Role, namespace="default")
    with pytest.raises(RefusalError) as caught:
        await register.ready()
    assert caught.value.status == 503


async def test_when_it_was_seen_is_not_when_it_was_written(roles: Register[Role]) -> None:
    role = await roles.add("a", RestRoleSpec(name="a"), number=1)
    assert role.updated == role.created
    assert role.created.endswith("Z")


@pytest.mark.parametrize("ticks", range(5))
async def test_who_is_cancelled_while_waiting_ends_whatever_comes_at_that_moment(plane: Plane, ticks: int) -> None:
    register = Register(plane.client, Informers(plane.client), REST_ROLE, Role, namespace="default")
    task = asyncio.create_task(register.ready())
    await asyncio.sleep(0.01)
    register._informer.watcher.synced.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    was_waiting = task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() is was_waiting


async def test_a_record_that_cannot_be_read_any_more_waits_for_its_number_and_ends_nothing(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeostat.web.kit.records.register._AGAIN_AFTER_S", 0.01)
    obstacle = Obstacle()
    obstacle.refuses = lambda method, path: (method, path) == ("PATCH", f"{PATH}/a")
    obstacle.garbled = (b'"description":"odd"', b'"description":7')
    async with open_register(plane.client.over(obstacle.over)) as roles:
        await plane.client.create(PATH, declared("a"))
        await eventually(lambda: len(roles.all()) == 1)
        await plane.client.merge(f"{PATH}/a", {"spec": {"description": "odd"}})
        await eventually(lambda: not roles.all())
        await asyncio.sleep(0.1)
        obstacle.refuses = lambda method, path: False
        await plane.client.merge(f"{PATH}/a", {"spec": {"description": "even"}})
        await eventually(lambda: [each.name for each in roles], lambda found: found == ["a"])
