"""The operator on a plane that holds odd things already when it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.operators import workloads
from homeostat.plane import Settings, open_plane
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually as eventually_within
from tests.operators.housekeeping.world import World, eventually

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"


@asynccontextmanager
async def simulated(client: Client, **environment: str) -> AsyncIterator[Manager]:
    manager = Manager(client, environment=environment)
    manager.add("workloads", workloads.register)
    task = asyncio.create_task(manager.run())
    try:
        yield manager
        assert not task.done()
    finally:
        manager.stop()
        await task


@pytest.fixture
async def world(data: Path) -> AsyncIterator[World]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        await plane.client.create(f"{ADMISSION}/validatingadmissionpolicies", policy("node-2"))
        await plane.client.create(
            f"{ADMISSION}/validatingadmissionpolicybindings",
            {"metadata": {"name": "refuse"}, "spec": {"policyName": "refuse", "validationActions": ["Deny"]}},
        )
        yield World(plane.client)


def policy(node: str) -> JsonObject:
    resources = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"], "operations": ["CREATE"]}
    expression = f"object.metadata.name != '{node}'"
    spec = {"matchConstraints": {"resourceRules": [resources]}, "validations": [{"expression": expression}]}
    return {"metadata": {"name": "refuse"}, "spec": spec}


def pod(name: str, **spec: object) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "a", "image": "a"}], **spec}}


async def test_it_copes_with_what_it_finds(world: World) -> None:
    """A Node that is refused, one without an address, and a Pod that ran on a Node that is gone."""
    client = world.client
    await client.create(NODES, {"metadata": {"name": "odd"}})
    await client.merge(f"{NODES}/odd/status", {"status": {"addresses": [{"type": "InternalIP"}]}})
    await client.create(PODS, pod("lost", nodeName="nowhere"))
    await client.merge(f"{PODS}/lost/status", {"status": {"phase": "Running", "podIP": "10.128.0.9"}})
    await client.create(PODS, pod("early", nodeName="late"))
    async with simulated(client) as manager:

        async def has_started() -> bool:
            found = [each for each in (await client.list(NODES))[0] if "allocatable" in each.get("status", {})]
            nodes = {each["metadata"]["name"] for each in found}
            return nodes == {"node-1", "node-3", "odd"} and await world.find(f"{PODS}/lost") is None

        await eventually(has_started)
        await client.delete(f"{ADMISSION}/validatingadmissionpolicybindings/refuse")
        await client.create(NODES, {"metadata": {"name": "late"}})

        async def is_whole() -> bool:
            early = await client.get(f"{PODS}/early")
            return await world.find(f"{NODES}/node-2") is not None and early.get("status", {}).get("phase") == "Running"

        await eventually(is_whole)
        early = await client.get(f"{PODS}/early")
        assert early["status"]["qosClass"] == "BestEffort"
        await client.delete(f"{NODES}/late")

        async def is_gone() -> bool:
            return await world.find(f"{PODS}/early") is None

        await eventually(is_gone)
        # The page Operators shows its queues, and the metrics have them.
        (state,) = manager.states()
        counted = {each.name: each for each in state.controllers}
        assert counted["workloads-pods"].outcomes["acted"] > 0
        assert b'homeostat_reconciles_total{controller="workloads-pods",outcome="acted"}' in manager.metrics.text()


async def test_without_its_controllers_it_runs_what_is_bound_and_schedules_nothing(world: World) -> None:
    client = world.client
    await client.delete(f"{ADMISSION}/validatingadmissionpolicybindings/refuse")
    await client.create(PODS, pod("free"))
    await client.create(PODS, pod("bound", nodeName="node-1"))
    async with simulated(client, HOMEOSTAT_WORKLOADS_PARTS="nodes"):

        async def runs() -> bool:
            bound = await client.get(f"{PODS}/bound")
            return bool(bound.get("status", {}).get("phase") == "Running")

        await eventually(runs)
        assert "nodeName" not in (await client.get(f"{PODS}/free"))["spec"]
        events, _ = await client.list("/api/v1/namespaces/default/events")
        assert "Scheduled" not in {each["reason"] for each in events}
    with pytest.raises(ValueError, match="all or nodes"):
        workloads.check_environment({"HOMEOSTAT_WORKLOADS_PARTS": "pods"})


async def test_a_replica_set_counts_its_new_pods_without_waiting_for_their_changes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeostat.operators.workloads.reconciler.SOON_S", 20.0)
    client, sets = world.client, "/apis/apps/v1/namespaces/default/replicasets"
    async with simulated(client):
        await client.create(sets, deployment("counted", 2, **asking("1m")))
        counted = await eventually_within(
            lambda: client.get(f"{sets}/counted"), lambda found: found["status"]["replicas"] == 2, within_s=10.0
        )
        assert counted["status"]["observedGeneration"] == 1


async def test_ended_pods_beyond_a_number_are_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeostat.operators.workloads.collector.controller._EVERY_S", 0.05)
    client, ended = world.client, {"a": "Succeeded", "b": "Failed", "c": "Succeeded", "d": "Failed"}
    for name, phase in {**ended, "running": "Running"}.items():
        await client.create(PODS, pod(name, nodeName="somewhere", automountServiceAccountToken=False))
        status = {"phase": phase, "podIP": "10.128.0.9", "reason": "Evicted" if name == "d" else None}
        await client.merge(f"{PODS}/{name}/status", {"status": status})
    await client.create(NODES, {"metadata": {"name": "somewhere"}})
    async with simulated(client, HOMEOSTAT_WORKLOADS_ENDED_PODS="2"):

        async def are_kept() -> set[str]:
            return {each["metadata"]["name"] for each in (await client.list(PODS))[0]}

        assert await eventually_within(are_kept, lambda names: len(names) == 3) == {"b", "c", "running"}
    for text in ("-1", "many"):
        with pytest.raises(ValueError, match="0 for all"):
            workloads.check_environment({"HOMEOSTAT_WORKLOADS_ENDED_PODS": text})


def deployment(name: str, replicas: int, **spec: object) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, **spec}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def asking(cpu: str) -> JsonObject:
    return {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": cpu}}}]}


async def test_a_pod_gets_the_room_of_those_that_it_preempts_and_not_their_replacements(world: World) -> None:
    client, deployments = world.client, "/apis/apps/v1/namespaces/default/deployments"
    important = {"metadata": {"name": "important"}, "value": 1000}
    await client.create("/apis/scheduling.k8s.io/v1/priorityclasses", important)
    size = "cpu=4,memory=8Gi,pods=110"
    async with simulated(client, HOMEOSTAT_WORKLOADS_NODES="1", HOMEOSTAT_WORKLOADS_NODE_SIZE=size):
        await client.create(deployments, deployment("low", 20, **asking("200m")))

        async def are_ready(name: str, replicas: int) -> bool:
            found = await client.get(f"{deployments}/{name}")
            return bool(found.get("status", {}).get("readyReplicas") == replicas)

        await eventually(lambda: are_ready("low", 20))
        high = deployment("high", 2, priorityClassName="important", **asking("1800m"))
        await client.create(deployments, high)
        await eventually(lambda: are_ready("high", 2))
        await eventually(lambda: are_ready("low", 2))

        async def are_reported() -> bool:
            events, _ = await client.list("/api/v1/namespaces/default/events")
            return sum(each.get("count") or 1 for each in events if each["reason"] == "Preempted") >= 18

        await eventually(are_reported)
        pods, _ = await client.list(PODS)
    assert len(pods) == 22, "each that was preempted has one replacement, which waits"
