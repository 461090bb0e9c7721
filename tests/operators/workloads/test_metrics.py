"""`metrics.k8s.io`: what simulated Pods and Nodes use."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.objects.errors import BadRequestError, MethodNotAllowedError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators import workloads
from homeostat.operators.workloads.api import LOAD, USE
from homeostat.operators.workloads.autoscalers.usage import parse_use
from homeostat.operators.workloads.metrics.objects import POD_METRICS, node_metrics, pod_metrics, uses_of
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from tests.operators.workloads.objects import THEN, pod

PATH = "/apis/metrics.k8s.io/v1beta1"


def of_two(own: str = "", shared: str = "", *, among: int = 1) -> JsonObject:
    asked = {"requests": {"cpu": "200m"}}
    containers = [{"name": "a", "image": "a", "resources": asked}, {"name": "b", "image": "b"}]
    found = pod(spec={"containers": containers})
    uses = uses_of(found, parse_use(own), parse_use(shared), among=among)
    return {each["name"]: each["usage"] for each in pod_metrics(found, uses, THEN)["containers"]}


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("cpu=11m", "", {"a": {"cpu": "6m"}, "b": {"cpu": "5m"}}),
        ("cpu=50%", "", {"a": {"cpu": "100m"}, "b": {"cpu": "0"}}),
        ("memory=64Mi", "", {"a": {"memory": "32768Ki"}, "b": {"memory": "32768Ki"}}),
        ("", "cpu=60m", {"a": {"cpu": "10m"}, "b": {"cpu": "10m"}}),
        ("cpu=2", "cpu=60m,memory=6k", {"a": {"cpu": "1", "memory": "1000"}, "b": {"cpu": "1", "memory": "1000"}}),
        ("requests=5", "", {}),
    ],
)
def test_the_containers_of_a_pod_share_what_it_uses(own: str, shared: str, expected: JsonObject) -> None:
    assert of_two(own, shared, among=3) == expected


def test_a_node_uses_what_its_pods_use() -> None:
    uses = [{"a": {"cpu": 100, "memory": 2048_000}, "b": {"cpu": 50}}, {"c": {"cpu": 850}}]
    assert node_metrics(pod().metadata, uses, THEN)["usage"] == {"cpu": "1", "memory": "2Ki"}
    assert node_metrics(pod().metadata, [], THEN)["usage"] == {"cpu": "0", "memory": "0"}


def container(**requests: str) -> JsonObject:
    return {"name": "app", "image": "nginx:1", "resources": {"requests": requests}}


async def create_pods(client: Client) -> None:
    spec = {"containers": [container(cpu="100m")]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {
        "metadata": {"name": "web", "annotations": {LOAD: "cpu=90m"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }
    await client.create("/apis/apps/v1/namespaces/default/deployments", deployment)
    annotated = {"name": "own", "annotations": {USE: "cpu=80%,memory=1Mi"}}
    await client.create("/api/v1/namespaces/default/pods", {"metadata": annotated, "spec": spec})
    await client.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "quiet"}, "spec": spec})


async def show_metrics(client: Client) -> None:
    await create_pods(client)

    async def measured() -> list[JsonObject]:
        return (await client.list(f"{PATH}/namespaces/default/pods"))[0]

    # The load is shared by the Pods that are ready.
    def is_settled(found: list[JsonObject]) -> bool:
        return len(found) == 4 and found[1]["containers"][0]["usage"] == {"cpu": "30m"}

    first, *_ = await eventually(measured, is_settled, within_s=10.0)
    assert (first["metadata"]["name"], first["containers"][0]["usage"]) == ("own", {"cpu": "80m", "memory": "1024Ki"})
    assert [each["metadata"]["name"] for each in (await client.list(f"{PATH}/pods", labelSelector="app!=web"))[0]] == [
        "own"
    ]
    assert (await client.get(f"{PATH}/namespaces/default/pods/own"))["kind"] == "PodMetrics"
    nodes, _ = await client.list(f"{PATH}/nodes")
    assert [each["metadata"]["name"] for each in nodes] == ["node-1", "node-2", "node-3"]
    for path in (f"{PATH}/namespaces/default/pods/quiet", f"{PATH}/nodes/node-9"):
        with pytest.raises(NotFoundError):
            await client.get(path)
    with pytest.raises(BadRequestError, match="field label not supported"):
        await client.list(f"{PATH}/pods", fieldSelector="spec.nodeName=node-1")
    assert not (await client.list(f"{PATH}/pods", fieldSelector="metadata.name=web"))[0]
    with pytest.raises(MethodNotAllowedError):
        await client.delete(f"{PATH}/namespaces/default/pods/own")


async def show_metrics_beside_a_leader(client: Client) -> None:
    held = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": format_micro_time(datetime.now(UTC))}
    await client.create(LEASE.path("kube-system"), LEASE.new("homeostat-workloads", spec=held))
    manager = Manager(client, leases="kube-system")
    setup = manager.add("workloads", workloads.register)
    async with manager.running():
        await manager.informers.synced()
        found = await setup.computed[POD_METRICS].read("default")
        assert [each["containers"][0]["usage"]["cpu"] for each in found] == ["80m", "30m", "30m", "30m"]
        assert not manager.states()[0].is_leading


def test_metrics_are_served_while_workloads_are_simulated(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_test_plane(tmp_path / "with", "homeostat.operators.workloads") as plane:
            await show_metrics(plane.client)
            resources = (await plane.client.get(PATH))["resources"]
            assert [(each["name"], each["kind"], each["verbs"]) for each in resources] == [
                ("nodes", "NodeMetrics", ["get", "list"]),
                ("pods", "PodMetrics", ["get", "list"]),
            ]
            await show_metrics_beside_a_leader(plane.client)
        async with open_test_plane(tmp_path / "without") as plane:
            with pytest.raises(NotFoundError):
                await plane.client.get(PATH)

    asyncio.run(main())
