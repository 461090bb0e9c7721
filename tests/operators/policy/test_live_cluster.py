"""Policies of the whole cluster, and the scores of namespaces that nobody declared a policy for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import NAMESPACE
from homeostat.operators import housekeeping
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.policy.live import BARE, GOOD, Live, operating

KIND = CLUSTER_DEVOPS_POLICY.kind
TAG: JsonObject = {"forbidLatestTag": True}


async def declare(client: Client, spec: JsonObject, name: str) -> None:
    body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}, "spec": spec}
    await client.create(KIND.path(""), body)


async def shows(client: Client, name: str, **fields: object) -> JsonObject:
    async def see() -> Any:
        obj = await client.get(KIND.path("", name))
        check_status(obj)
        return obj["status"]

    return await eventually(see, lambda status: all(status.get(key) == value for key, value in fields.items()))


async def make_namespace(live: Live, labels: dict[str, str]) -> Live:
    name = await create_namespace(live.client)
    await live.client.merge(NAMESPACE.path("", name), {"metadata": {"labels": labels}})
    return Live(live.client, name, live.manager)


async def test_a_policy_of_the_cluster_selects_the_namespaces_of_its_selector(api: Api) -> None:
    tier = {"tier": api.namespace}
    async with operating(api, Manager(api.client)) as live:
        first, second = await make_namespace(live, tier), await make_namespace(live, tier)
        await live.run_pod("outside", BARE)
        await first.run_pod("web", BARE)
        await second.run_pod("web", GOOD)
        await declare(live.client, {**TAG, "namespaceSelector": {"matchLabels": tier}}, api.namespace)
        scored = [
            {"name": first.namespace, "healthScore": 95, "pods": 1, "violations": 1},
            {"name": second.namespace, "healthScore": 100, "pods": 1, "violations": 0},
        ]
        await shows(live.client, api.namespace, pods=2, violations=1, healthScore=98, namespaces=scored)
        await second.run_pod("api", BARE)
        await shows(live.client, api.namespace, pods=3, violations=2)
        await live.client.merge(NAMESPACE.path("", first.namespace), {"metadata": {"labels": {"tier": None}}})
        await shows(live.client, api.namespace, pods=2, violations=1)
        third = await make_namespace(live, tier)
        await third.run_pod("web", BARE)
        await shows(live.client, api.namespace, pods=3, violations=2)
        assert live.figure(f"devopspolicy_health_score||{api.namespace}") == 97
        await live.client.delete(KIND.path("", api.namespace))
        await eventually(lambda: live.series_of(api.namespace), lambda left: not any("devops" in each for each in left))


async def test_a_policy_of_the_cluster_records_in_every_namespace_that_has_pods(api: Api) -> None:
    name, tier = api.namespace, {"tier": api.namespace}
    async with operating(api, Manager(api.client)) as live:
        first, second, empty = [await make_namespace(live, tier) for _ in range(3)]
        await first.run_pod("web", BARE)
        await second.run_pod("web", GOOD)
        spec = {**TAG, "namespaceSelector": {"matchLabels": tier}, "intervalSeconds": 1}
        await declare(live.client, {**spec, "auditResults": {"retention": 1}}, name)
        (result,) = await eventually(lambda: first.results(name))
        policy = await live.client.get(KIND.path("", name))
        (owner,) = result["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == (KIND.kind, name, policy["metadata"]["uid"])
        assert (result["spec"]["healthScore"], result["spec"]["totalPods"]) == (95, 1)
        assert [each["podName"] for each in result["spec"]["violations"]] == ["web"]
        (clean,) = await eventually(lambda: second.results(name))
        assert (clean["spec"]["healthScore"], "violations" in clean["spec"]) == (100, False)
        await first.change_image("web", "nginx:1.25")
        (newer,) = await eventually(
            lambda: first.results(name), lambda found: [each["spec"]["healthScore"] for each in found] == [100]
        )
        assert newer["metadata"]["name"] != result["metadata"]["name"]
        looks = live.figure("devopspolicy_reconcile_total")
        await eventually(lambda: live.figure("devopspolicy_reconcile_total") > looks + 1)
        assert await first.results(name) == [newer]
        assert await second.results(name) == [clean]
        assert await empty.results(name) == []
        await live.client.delete(KIND.path("", name))


async def test_many_namespaces_have_their_record_by_turns(plane: Api) -> None:
    async with operating(plane, Manager(plane.client)) as live:
        spaces = [await make_namespace(live, {}) for _ in range(25)]
        for each in spaces:
            await each.run_pod("web", BARE)
        await declare(live.client, TAG, "all")
        await shows(live.client, "all", pods=25, violations=25)
        await eventually(lambda: live.figure("devopspolicy_audit_results_total") == 25)
        assert [len(await each.results("all")) for each in spaces] == [1] * 25


@asynccontextmanager
async def housekept(api: Api) -> AsyncIterator[None]:
    chores = asyncio.create_task(housekeeping.run(api.client, authority=""))
    try:
        yield
    finally:
        chores.cancel()


async def test_results_of_the_cluster_go_with_their_policy(plane: Api) -> None:
    async with operating(plane, Manager(plane.client)) as live, housekept(plane):
        await live.run_pod("web", BARE)
        await declare(live.client, TAG, "all")
        await live.declare(TAG, "all")
        await eventually(lambda: live.results("all"), lambda found: len(found) == 2)
        await live.client.delete(KIND.path("", "all"))
        (left,) = await eventually(lambda: live.results("all"), lambda found: len(found) == 1)
        assert left["metadata"]["ownerReferences"][0]["kind"] == "DevOpsPolicy"


async def test_a_namespace_that_refuses_records_does_not_keep_others_from_theirs(plane: Api) -> None:
    async with operating(plane, Manager(plane.client)) as live:
        ending, other = await make_namespace(live, {}), await make_namespace(live, {})
        for each in (ending, other):
            await each.run_pod("web", BARE)
        await live.client.delete(NAMESPACE.path("", ending.namespace))
        await declare(live.client, TAG, "all")
        await eventually(lambda: other.results("all"))
        await shows(live.client, "all", healthScore=95, pods=2)
        assert await ending.results("all") == []


@pytest.mark.parametrize("form", ["kube-{}", "{}-system"])
async def test_a_pod_of_the_system_beside_a_clean_one_changes_nothing(api: Api, form: str) -> None:
    name, tier = api.namespace, {"tier": api.namespace}
    async with operating(api, Manager(api.client)) as live:
        clean = await make_namespace(live, tier)
        system = await create_namespace(live.client, form.format(name), tier)
        await Live(live.client, system, live.manager).run_pod("dns", BARE)
        await clean.run_pod("web", GOOD)
        await declare(live.client, {**TAG, "namespaceSelector": {"matchLabels": tier}}, name)
        await shows(live.client, name, pods=1, violations=0, healthScore=100)
        assert f"namespace_health_score|{system}" not in live.figures()
        await live.client.delete(KIND.path("", name))


async def test_no_policy_selects_system_namespaces(plane: Api) -> None:
    async with operating(plane, Manager(plane.client)) as live:
        await Live(live.client, "kube-system", live.manager).run_pod("dns", BARE)
        await live.run_pod("web", GOOD)
        await declare(live.client, TAG, "all")
        await shows(live.client, "all", pods=1, violations=0)
        assert live.figure("pods_tracked_total") == 1


async def test_an_operator_of_one_namespace_ignores_policies_of_the_cluster(plane: Api) -> None:
    async with operating(plane) as live:
        await declare(live.client, TAG, "all")
        await live.declare(TAG)
        await live.settles()
        assert "status" not in await live.client.get(KIND.path("", "all"))


async def test_every_namespace_has_a_score_without_any_policy(plane: Api) -> None:
    async with operating(plane, Manager(plane.client)) as live:
        assert (live.figure("cluster_health_score"), live.figure("pods_tracked_total")) == (100, 0)
        other = await make_namespace(live, {})
        await live.run_pod("worst", BARE, restarts=10, phase="Pending")
        await other.run_pod("good", GOOD)
        score, others = f"namespace_health_score|{live.namespace}", f"namespace_health_score|{other.namespace}"
        await eventually(live.figures, lambda figures: (figures.get(score), figures.get(others)) == (56, 100))
        assert (live.figure("cluster_health_score"), live.figure("pods_tracked_total")) == (78, 2)
        assert live.figure("pod_events_total") == 4
        await live.remove_pod("worst")
        await eventually(live.figures, lambda figures: figures[score] == 100)
        await other.remove_pod("good")
        await live.client.delete(NAMESPACE.path("", other.namespace))
        await live.client.request(
            "PUT", f"/api/v1/namespaces/{other.namespace}/finalize", body=await _finalized(live.client, other.namespace)
        )
        await eventually(live.figures, lambda figures: others not in figures)
        assert live.figure("pods_tracked_total") == 0


async def _finalized(client: Client, name: str) -> JsonObject:
    found = await client.get(NAMESPACE.path("", name))
    return {**found, "spec": {"finalizers": []}}
