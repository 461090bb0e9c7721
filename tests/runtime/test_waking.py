"""Operators without work sleep: neither imported nor set up until there is an object for them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from homeostat.client.base import Client, Transport
from homeostat.edge.metrics.exposition import exposition
from homeostat.objects.errors import ForbiddenError, InvalidError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, DEFINITION, POD
from homeostat.operators.catalog import OURS, find_operator
from homeostat.plane import Plane, Settings, open_plane
from homeostat.runtime.description import Description
from homeostat.runtime.manager import Manager
from homeostat.runtime.presence import has_objects
from homeostat.runtime.setup import Setup
from homeostat.runtime.supervisor import Supervisor
from homeostat.runtime.waking import first_object
from homeostat.testing.eventually import eventually
from tests.runtime.faulty import QUICK, FaultyTransport
from tests.runtime.widgets import Widgets, path, widget

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"
NOTE: JsonObject = {
    "apiVersion": "homeostat.dev/v1alpha1",
    "kind": "ResourceType",
    "metadata": {"name": "note"},
    "spec": {"name": "Note", "version": "v1", "action": {"plugin": "http"}},
}
A_POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}


class Sleeper(Widgets):
    """Counts how often it was loaded and set up."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded, self.registered = 0, 0

    def load(self) -> Sleeper:
        self.loaded += 1
        return self

    def register(self, setup: Setup) -> None:
        self.registered += 1
        super().register(setup)

    def description(self) -> Description:
        definitions = tuple(each.definition() for each in self.KINDS)
        wakes = tuple(each.kind for each in self.KINDS)
        return Description(name="sleeper", definitions=lambda: definitions, wakes=wakes, load=self.load)


def plane_settings(data: Path, *operators: str, database: str | None = None) -> Settings:
    return Settings(data=data, port=0, is_open=True, operators=frozenset(operators or OURS), database=database)


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_plane(Settings(data=data, port=0, is_open=True, operators=frozenset())) as plane:
        yield plane.client


async def awake(plane: Plane) -> list[str]:
    found: list[str] = (await plane.client.get("/version"))["homeostat"]["awake"]
    return found


def is_greeted(obj: JsonObject) -> bool:
    return bool(obj.get("status", {}).get("text"))


async def test_an_operator_sleeps_until_its_first_object_and_then_works_on_it(client: Client) -> None:
    sleeper = Sleeper()
    supervisor = Supervisor(client, sleeper.description(), grace_s=1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(supervisor.run())
        await supervisor.installed()
        assert (supervisor.is_awake, sleeper.loaded, supervisor.manager) == (False, 0, None)
        await client.create(path(), widget("a"))
        await eventually(lambda: client.get(path("a")), is_greeted)
        assert (supervisor.is_awake, sleeper.loaded, sleeper.registered) == (True, 1, 1)
        await supervisor.stop()


async def test_an_operator_that_has_objects_at_the_start_does_not_sleep(client: Client) -> None:
    first = Supervisor(client, Sleeper().description(), grace_s=1)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first.run())
        await first.installed()
        await client.create(path(), widget("a"))
        await first.stop()
        second = Supervisor(client, Sleeper().description(), grace_s=1)
        tasks.create_task(second.run())
        await second.installed()
        assert second.is_awake
        await second.stop()


async def test_a_sleeping_operator_is_stopped_at_once(client: Client) -> None:
    sleeper = Sleeper()
    supervisor = Supervisor(client, sleeper.description(), grace_s=60)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(supervisor.run())
        await supervisor.installed()
        await supervisor.stop()
    assert sleeper.loaded == 0


async def test_a_manager_adds_a_sleeping_operator_when_there_is_work(client: Client) -> None:
    sleeper = Sleeper()
    description = sleeper.description()
    for each in description.definitions():
        await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
    manager = Manager(client, grace_s=1.0)
    manager.add_sleeping(description)
    async with manager.running():
        await asyncio.sleep(0)
        assert sleeper.registered == 0
        await eventually(lambda: client.create(path(), widget("a")))
        await eventually(lambda: client.get(path("a")), is_greeted)
        assert manager.troubles() == []


async def test_a_sleeping_operator_whose_watch_fails_makes_the_process_not_ready(client: Client) -> None:
    sleeper, faulty = Sleeper(), list[FaultyTransport]()
    for each in sleeper.description().definitions():
        await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)

    def spoiled(inner: Transport) -> FaultyTransport:
        faulty.append(FaultyTransport(inner))
        for refusals in (faulty[-1].refusals, faulty[-1].stream_refusals):
            refusals.extend(ForbiddenError("not allowed") for _ in range(1000))
        return faulty[-1]

    manager = Manager(client.over(spoiled), grace_s=1.0, pace=QUICK)
    manager.add_sleeping(sleeper.description())
    async with manager.running():
        (trouble,) = await eventually(_troubles(manager), lambda found: found)
        assert trouble.startswith("sleeper: /apis/")
        await eventually(_troubles(manager), lambda found: "not allowed" in "".join(found))
        for transport in faulty:
            transport.refusals.clear()
            transport.stream_refusals.clear()
        await eventually(_troubles(manager), lambda found: not found)


def _troubles(manager: Manager) -> Callable[[], Awaitable[list[str]]]:
    async def read() -> list[str]:
        return manager.troubles()

    return read


async def test_the_first_object_is_found_now_and_later(client: Client) -> None:
    assert not await has_objects(client, [POD, CONFIG_MAP], namespace="shop")
    await client.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    waiting = asyncio.create_task(first_object(client, [POD], namespace="shop"))
    await client.create(POD.path("default"), A_POD)
    await client.create(POD.path("shop"), A_POD)
    assert await asyncio.wait_for(waiting, 30) == "/api/v1/namespaces/shop/pods"
    assert await has_objects(client, [POD])


async def test_an_empty_plane_has_the_kinds_of_its_operators_and_none_is_awake(tmp_path: Path) -> None:
    async with open_plane(plane_settings(tmp_path)) as plane:
        assert await awake(plane) == []
        definitions = await plane.client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        names = {each["metadata"]["name"] for each in definitions["items"]}
        assert names == {each["metadata"]["name"] for name in OURS for each in find_operator(name).definitions()}
        assert [each.manager for each in plane.supervisors] == [None] * len(OURS)


async def test_a_guarded_write_wakes_the_operator_and_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "homeostat.runtime.supervisor")
    unfit = {**NOTE, "spec": {"name": "Note", "version": "v1", "schema": {"type": "nothing"}}}
    async with open_plane(plane_settings(tmp_path, "actions")) as plane:
        with pytest.raises(InvalidError, match="schema"):
            await plane.client.create(TYPES, unfit)
        assert await awake(plane) == ["actions"]
        await plane.client.create(TYPES, NOTE)
    assert caplog.messages.count("operator woke") == 1


async def test_a_pod_wakes_the_operator_that_exports_the_health_of_pods(tmp_path: Path) -> None:
    async with open_plane(plane_settings(tmp_path)) as plane:
        await plane.client.create(POD.path("default"), A_POD)
        await eventually(lambda: awake(plane), lambda found: found == ["policy"])
        await eventually(lambda: b'namespace="default"' in exposition(plane.app.metrics))


async def test_an_object_of_the_last_run_wakes_the_operator_at_the_start(tmp_path: Path) -> None:
    async with open_plane(plane_settings(tmp_path, "actions")) as plane:
        await plane.client.create(TYPES, NOTE)
    async with open_plane(plane_settings(tmp_path)) as plane:
        assert await awake(plane) == ["actions"]


async def test_a_plane_without_work_imports_no_operator_and_no_compiler(tmp_path: Path) -> None:
    large = {"homeostat.cel.compile.compiler", "homeostat.cel.functions", "homeostat.runtime.manager", "yaml"}
    program = f"""
import asyncio, sys
from pathlib import Path
from homeostat.plane import Settings, open_plane
from homeostat.operators.catalog import OURS
async def main():
    async with open_plane(Settings(data=Path({str(tmp_path / "plane")!r}), port=0, is_open=True)):
        print([name for name in sys.modules if name in {{*OURS.values(), *{large!r}}}])
asyncio.run(main())
"""
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    told, _ = await done.communicate()
    assert told.decode().strip() == "[]"


async def test_an_operator_wakes_when_a_kind_that_a_server_may_lack_is_defined(client: Client) -> None:
    (widget,) = Widgets().KINDS
    kinds = (widget.kind,)
    assert not await has_objects(client, kinds, if_served=kinds)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        seeing = tasks.create_task(first_object(client, kinds, if_served=kinds))
        await asyncio.sleep(0)
        await client.create(DEFINITION.path(""), widget.definition())
    assert seeing.result() == DEFINITION.path("")


async def test_a_kind_that_is_not_there_is_an_error(client: Client) -> None:
    with pytest.raises(NotFoundError):
        await has_objects(client, [each.kind for each in Widgets().KINDS])
