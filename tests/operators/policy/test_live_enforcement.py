"""A policy that enforces puts workloads right, once, and only where it may."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.operators.policy import act
from homeostat.operators.policy.api import INJECTED, OPERATOR, OPT_OUT, PATCHED_BY
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.policy.live import BARE, Live, operating
from tests.operators.policy.worlds import container

SPEC: JsonObject = {
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "enforcementMode": "enforce",
    "defaultProbe": {"tcpPort": 3000},
    "defaultResources": {"memoryLimit": "512Mi"},
}
APPLIED = "devopspolicy_remediations_applied_total"
VALIDATION = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpol"


async def deploy(
    live: Live, name: str = "web", kind: Kind = DEPLOYMENT, ports: list[JsonObject] | None = None, **metadata: object
) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{**BARE, "ports": ports or []}]}}
    spec: JsonObject = {"selector": {"matchLabels": labels}, "template": template}
    if kind is STATEFUL_SET:
        spec["serviceName"] = name
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return await live.client.create(kind.path(live.namespace), body)


def owner(obj: JsonObject, kind: str) -> JsonObject:
    return {"apiVersion": "apps/v1", "kind": kind, "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}


async def roll_out(live: Live, deployment: JsonObject, *, replica_set: str = "", pods: int = 1) -> None:
    """What the controllers of a cluster would make of a Deployment."""
    name = replica_set or f"{deployment['metadata']['name']}-5d4f8b9c7f"
    owned = await deploy(live, name, REPLICA_SET, ownerReferences=[owner(deployment, "Deployment")])
    for number in range(pods):
        await live.run_pod(f"{name}-{number}", BARE, owner=owner(owned, "ReplicaSet"))


async def workload(live: Live, name: str = "web", kind: Kind = DEPLOYMENT) -> JsonObject:
    return await live.client.get(kind.path(live.namespace, name))


def container_of(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj["spec"]["template"]["spec"]["containers"][0]
    return found


async def is_left_alone(live: Live, name: str = "web") -> None:
    await live.settles()
    await asyncio.sleep(0.1)
    assert "livenessProbe" not in container_of(await workload(live, name))
    assert live.figure(APPLIED) == 0


async def test_a_workload_gets_what_its_pods_lack_once(api: Api) -> None:
    async with operating(api) as live:
        await roll_out(live, await deploy(live), pods=2)
        await live.declare(SPEC)
        key = f"deployment/{live.namespace}/web"
        await live.shows(remediationsApplied=1, remediationsFailed=0, remediatedWorkloads=[key])
        await live.settles()
        found = await workload(live)
        assert found["spec"]["template"]["metadata"]["annotations"] == {PATCHED_BY: OPERATOR}
        assert found["metadata"]["annotations"][INJECTED]
        patched = container_of(found)
        for probe in ("livenessProbe", "readinessProbe"):
            assert patched[probe]["tcpSocket"] == {"port": 3000}
        assert patched["resources"]["limits"] == {"cpu": "500m", "memory": "512Mi"}
        assert (patched["name"], patched["image"]) == ("main", "nginx:latest")
        assert live.figure(APPLIED) == 1
        assert live.figure(f"devopspolicy_enforcement_mode|{live.namespace}|main") == 1
        (event,) = await eventually(lambda: live.events("Remediated"))
        assert event["note"].startswith(f"Patched {key} (main: livenessProbe")


@pytest.mark.parametrize(("kind", "word"), [(STATEFUL_SET, "StatefulSet"), (DAEMON_SET, "DaemonSet")])
async def test_other_workloads_own_their_pods_themselves(api: Api, kind: Kind, word: str) -> None:
    async with operating(api) as live:
        await live.run_pod("web-0", BARE, owner=owner(await deploy(live, kind=kind), word))
        await live.declare(SPEC)
        await live.shows(remediatedWorkloads=[f"{word.lower()}/{live.namespace}/web"])
        assert "livenessProbe" in container_of(await workload(live, kind=kind))


async def test_the_owner_of_a_replica_set_is_read(api: Api) -> None:
    async with operating(api) as live:
        await deploy(live, "front")
        await roll_out(live, await deploy(live, "shop"), replica_set="front-5d4f8b9c7f")
        await live.declare(SPEC)
        await live.shows(remediatedWorkloads=[f"deployment/{live.namespace}/shop"])
        assert "livenessProbe" not in container_of(await workload(live, "front"))


async def test_a_replica_set_that_is_taken_over_takes_its_pods_along(api: Api) -> None:
    async with operating(api) as live:
        front, shop = await deploy(live, "front"), await deploy(live, "shop")
        lone = await deploy(live, "front-5d4f8b9c7f", REPLICA_SET)
        await live.run_pod("front-5d4f8b9c7f-0", BARE, owner=owner(lone, "ReplicaSet"))
        await live.declare(SPEC)
        await live.shows(violations=2, remediationsApplied=0)
        await is_left_alone(live, "front")
        path = REPLICA_SET.path(live.namespace, "front-5d4f8b9c7f")
        await live.client.merge(path, {"metadata": {"ownerReferences": [owner(shop, "Deployment")]}})
        await live.shows(remediatedWorkloads=[f"deployment/{live.namespace}/shop"])
        assert (await workload(live, "front"))["metadata"]["generation"] == front["metadata"]["generation"]


async def test_pods_without_a_workload_are_left_as_they_are(api: Api) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "web", "uid": "1"}
    async with operating(api) as live:
        await deploy(live)
        await live.run_pod("bare", BARE)
        await live.run_pod("once", BARE, owner=job)
        await live.declare(SPEC)
        await live.shows(violations=4, remediationsApplied=0)
        await is_left_alone(live)


@pytest.mark.parametrize("mode", [{"enforcementMode": "audit"}, {"enforcementMode": None}], ids=["audit", "absent"])
async def test_a_policy_that_audits_touches_and_watches_no_workload(api: Api, mode: JsonObject) -> None:
    async with operating(api) as live:
        await roll_out(live, await deploy(live))
        await live.declare({**SPEC, **mode})
        await live.shows(violations=2, remediationsApplied=None)
        await is_left_alone(live)
        assert not any("/apps/" in each.source.path for each in live.manager.informers)


PORTS = [
    pytest.param({"tcpPort": 3000, "fallbackPort": 8080}, [{"containerPort": 9090}], 3000, id="the policy's"),
    pytest.param({"fallbackPort": 8080}, [{"containerPort": 9090}], 9090, id="the container's"),
    pytest.param({"fallbackPort": 8080}, [], 8080, id="the last resort"),
]


@pytest.mark.parametrize(("probe", "ports", "port"), PORTS)
async def test_a_probe_asks_a_port_that_is_known(
    api: Api, probe: JsonObject, ports: list[JsonObject], port: int
) -> None:
    async with operating(api) as live:
        deployment = await deploy(live, ports=ports)
        await roll_out(live, deployment)
        await live.declare({**SPEC, "defaultProbe": probe})
        await live.shows(remediationsApplied=1)
        assert container_of(await workload(live))["livenessProbe"]["tcpSocket"] == {"port": port}


async def test_only_a_tag_is_never_repaired(api: Api) -> None:
    async with operating(api) as live:
        owned = await deploy(live)
        await live.run_pod("web-5d4f-0", container("nginx:latest"), owner=owner(owned, "Deployment"))
        await live.declare({"forbidLatestTag": True, "requireLivenessProbe": True, "enforcementMode": "enforce"})
        await live.shows(violations=1, remediationsApplied=0)
        await is_left_alone(live)


async def test_a_dry_run_only_reports(api: Api) -> None:
    async with operating(api) as live:
        await roll_out(live, await deploy(live))
        await live.declare({**SPEC, "enforcement": {"dryRun": True}})
        status = await live.shows(plannedRemediations=[f"deployment/{live.namespace}/web"], remediationsApplied=0)
        told = f"deployment/{live.namespace}/web: spec.template.spec.containers[main].livenessProbe = "
        assert status["plannedChanges"][0].startswith(told)
        (event,) = await eventually(lambda: live.events("DryRun"))
        assert event["note"].startswith(f"Would inject: {told}")
        await is_left_alone(live)


async def test_a_workload_may_opt_out(api: Api) -> None:
    async with operating(api) as live:
        await roll_out(live, await deploy(live, annotations={OPT_OUT: "disabled"}))
        await live.declare(SPEC)
        await live.shows(remediationsApplied=0, plannedRemediations=None)
        await is_left_alone(live)
        await live.client.merge(DEPLOYMENT.path(live.namespace, "web"), {"metadata": {"annotations": {OPT_OUT: None}}})
        await live.shows(remediationsApplied=1)


async def test_what_the_policy_exempts_is_not_repaired(plane: Api) -> None:
    async with operating(plane) as live:
        await roll_out(live, await deploy(live))
        await live.declare({**SPEC, "exemptions": [{"reason": "it has none", "names": ["web"]}]})
        await live.shows(violations=0, exempted=2, remediationsApplied=0)
        await is_left_alone(live)


async def test_no_port_is_guessed_and_that_is_reported(api: Api) -> None:
    async with operating(api) as live:
        await roll_out(live, await deploy(live))
        await live.declare({**SPEC, "defaultProbe": {"periodSeconds": 30}, "defaultResources": None})
        told = f"deployment/{live.namespace}/web/main"
        await live.shows(containersWithoutPort=[told], remediationsApplied=0, plannedRemediations=None)
        await is_left_alone(live)
        (event,) = await eventually(lambda: live.events("NoProbePort"))
        assert event["note"].startswith(
            f"{told}: cannot inject a probe because no port is known; declare a containerPort"
        )
        named = [{**BARE, "ports": [{"containerPort": 9090}]}]
        path = DEPLOYMENT.path(live.namespace, "web")
        await live.client.merge(path, {"spec": {"template": {"spec": {"containers": named}}}})
        await live.shows(containersWithoutPort=None, remediationsApplied=1)
        assert container_of(await workload(live))["livenessProbe"]["tcpSocket"] == {"port": 9090}


async def test_an_undone_patch_is_not_repeated_before_the_cooldown_ends(plane: Api) -> None:
    async with operating(plane) as live:
        await roll_out(live, await deploy(live))
        await live.declare({**SPEC, "enforcement": {"cooldownSeconds": 2}})
        await live.shows(remediationsApplied=1)
        found = await workload(live)
        found["spec"]["template"]["spec"]["containers"] = [BARE]
        taken = await live.client.update(DEPLOYMENT.path(live.namespace, "web"), found)
        assert "livenessProbe" not in container_of(taken)
        await asyncio.sleep(0.3)
        assert "livenessProbe" not in container_of(await workload(live))
        await eventually(lambda: workload(live), lambda obj: "livenessProbe" in container_of(obj))

        async def applied() -> float:
            return live.figure(APPLIED)

        # Counted once the patch is answered, which is a little after others see it.
        assert await eventually(applied, lambda count: count != 1) == 2


async def test_a_protected_namespace_is_neither_scored_nor_changed(api: Api) -> None:
    name = await create_namespace(api.client, f"{api.namespace}-system")
    async with operating(Api(api.client, api.kubeconfig, name)) as live:
        await roll_out(live, await deploy(live))
        await live.declare(SPEC)
        await live.shows(pods=0, healthScore=100, violations=0)
        await is_left_alone(live)


async def test_a_refused_patch_is_reported_and_retried_and_does_not_block_others(
    plane: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "_RETRY_S", 0.8)
    async with operating(plane) as live:
        await _forbid(live, "object.metadata.name != 'web'")
        await roll_out(live, await deploy(live))
        await roll_out(live, await deploy(live, "zoo"))
        await live.declare(SPEC)
        await live.shows(remediationsFailed=1, remediatedWorkloads=[f"deployment/{live.namespace}/zoo"])
        failed = live.figure("devopspolicy_remediations_failed_total")
        assert failed >= 1
        (event, *_) = await eventually(lambda: live.events("RemediationFailed"))
        assert (event["type"], "not by us" in event["note"]) == ("Warning", True)
        await eventually(lambda: live.figure("devopspolicy_remediations_failed_total") > failed)
        await live.client.delete(f"{VALIDATION}icybindings/refuse")
        await live.shows(remediationsFailed=0, remediationsApplied=2)


async def _forbid(live: Live, unless: str) -> None:
    """The server refuses changes of Deployments, unless they keep the expression."""
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": unless, "message": "not by us"}],
    }
    await live.client.create(f"{VALIDATION}icies", {"metadata": {"name": "refuse"}, "spec": spec})
    binding = {"policyName": "refuse", "validationActions": ["Deny"]}
    await live.client.create(f"{VALIDATION}icybindings", {"metadata": {"name": "refuse"}, "spec": binding})
