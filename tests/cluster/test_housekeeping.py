"""Housekeeping needs nothing of a plane: beside a kube-apiserver that has no controllers it does their part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from homeostat.operators import housekeeping
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.operators.housekeeping.world import World, configmap_path, owner


@pytest.fixture
async def world(api: Api) -> AsyncIterator[World]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(housekeeping.run(api.client, authority="an authority"))
        yield World(api.client)
        task.cancel()


async def test_dependents_go_with_their_owner(api: Api, world: World) -> None:
    one = await world.configmap("one", namespace=api.namespace)
    other = await world.configmap("other", namespace=api.namespace)
    await world.configmap("child", owner(one), namespace=api.namespace)
    await world.configmap("of-both", owner(one), owner(other), namespace=api.namespace)
    await world.delete(configmap_path("one", api.namespace))
    await world.gone(configmap_path("child", api.namespace))
    await world.owners(configmap_path("of-both", api.namespace), "other")


async def test_an_owner_in_the_foreground_waits_for_its_dependents(api: Api, world: World) -> None:
    one = await world.configmap("one", namespace=api.namespace)
    await world.configmap("child", owner(one, blocks=True), namespace=api.namespace, finalizers=["example.com/hold"])
    await world.delete(configmap_path("one", api.namespace), "Foreground")
    await world.terminating(configmap_path("child", api.namespace))
    assert await world.find(configmap_path("one", api.namespace)) is not None
    await world.unhold(configmap_path("child", api.namespace))
    await world.gone(configmap_path("one", api.namespace), configmap_path("child", api.namespace))


async def test_orphans_stay(api: Api, world: World) -> None:
    one = await world.configmap("one", namespace=api.namespace)
    await world.configmap("child", owner(one), namespace=api.namespace)
    await world.delete(configmap_path("one", api.namespace), "Orphan")
    await world.gone(configmap_path("one", api.namespace))
    await world.owners(configmap_path("child", api.namespace))


async def test_a_namespace_is_furnished_and_goes_with_all_that_is_in_it(api: Api, world: World) -> None:
    path = f"/api/v1/namespaces/{api.namespace}"
    await world.configmap("a", namespace=api.namespace)
    await eventually(lambda: world.client.get(f"{path}/serviceaccounts/default"))
    await eventually(lambda: world.client.get(f"{path}/configmaps/kube-root-ca.crt"))
    await world.delete(path)
    await world.gone(path)
    assert (await api.client.list(f"{path}/configmaps"))[0] == []
