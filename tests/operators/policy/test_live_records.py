"""The record of evaluations, and policies that ask more than a Pod's usual fields."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEPLOYMENT, DISRUPTION_BUDGET, REPLICA_SET, Kind
from homeostat.testing.eventually import eventually
from tests.cluster.fixtures import Api
from tests.operators.policy.live import BARE, GOOD, Live, operating

TAG: JsonObject = {"forbidLatestTag": True}
SCANNED = "devopspolicy_pods_scanned_total"
TEAM: JsonObject = {
    "rules": [
        {
            "name": "team",
            "expression": "'team' in object.metadata.?annotations.orValue({})",
            "messageExpression": "object.metadata.name + ' names no team'",
            "severity": "high",
            "weight": 10,
        }
    ]
}


async def test_a_result_is_recorded_for_its_policy_and_never_twice(api: Api) -> None:
    async with operating(api) as live:
        await live.run_pod("web", BARE)
        policy = await live.declare({**TAG, "intervalSeconds": 1})
        await live.settles()
        looks = live.figure("devopspolicy_reconcile_total")
        await eventually(lambda: live.figure("devopspolicy_reconcile_total") > looks)
        (result,) = await live.results()
        (owner,) = result["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("DevOpsPolicy", "main", policy["metadata"]["uid"])
        assert result["metadata"]["name"].startswith("main-1")
        spec = result["spec"]
        assert (spec["healthScore"], spec["totalViolations"], spec["totalPods"]) == (95, 1, 1)
        assert spec["violations"] == [
            {
                "podName": "web",
                "containerName": "main",
                "violationType": "latest_tag",
                "severity": "high",
                "message": "container 'main' uses :latest tag",
            }
        ]
        assert live.figure("devopspolicy_audit_results_total") == 1


async def test_no_more_results_and_violations_are_kept_than_the_policy_allows(plane: Api) -> None:
    async with operating(plane) as live:
        kept = {"retention": 2, "maxViolations": 1}
        await live.declare({**TAG, "intervalSeconds": 1, "auditResults": kept})
        for number in range(3):
            await live.run_pod(f"web-{number}", BARE)
            await _is_recorded(live, number + 1)
        results = await eventually(live.results, lambda found: len(found) == 2)
        assert [each["spec"]["totalViolations"] for each in results] == [2, 3]
        assert [len(each["spec"]["violations"]) for each in results] == [1, 1]
        await live.change({"auditResults": {"retention": 0}})
        await eventually(live.results, lambda found: not found)


async def _is_recorded(live: Live, violations: int) -> None:
    await eventually(live.results, lambda found: found[-1]["spec"]["totalViolations"] == violations)


async def test_rules_ask_the_whole_pod_and_only_those_that_changed(api: Api) -> None:
    async with operating(api) as live:
        for number in range(3):
            await live.run_pod(f"web-{number}", GOOD)
        await live.declare(TEAM)
        await live.shows(violations=3, healthScore=90)
        (result,) = await eventually(live.results)
        assert result["spec"]["violations"][0]["message"] == "web-0 names no team"
        before = live.figure(SCANNED)
        await live.change_pod("web-1", {"metadata": {"annotations": {"team": "shop"}}})
        await live.shows(violations=2, healthScore=94)
        assert live.figure(SCANNED) - before == 1
        await live.remove_pod("web-0")
        await live.shows(violations=1, pods=2)
        await live.run_pod("web-9", GOOD)
        await live.shows(violations=2, pods=3)


async def test_many_pods_that_changed_are_listed_and_not_fetched(plane: Api) -> None:
    async with operating(plane) as live:
        await live.declare(TEAM)
        await live.settles()
        await asyncio.gather(*(live.run_pod(f"web-{number:03}", GOOD) for number in range(120)))
        await live.shows(pods=120, violations=120)
        await asyncio.gather(*(live.remove_pod(f"web-{number:03}") for number in range(60)))
        await live.shows(pods=60, violations=60)


STALLED = {
    "a rule that does not compile": ({"rules": [{"name": "no", "expression": "object.("}]}, "InvalidRule"),
    "a rule that is no bool": ({"rules": [{"name": "no", "expression": "1 + 1"}]}, "InvalidRule"),
    "an exemption of nothing": ({"exemptions": [{"reason": "x", "checks": ["none"]}]}, "InvalidExemption"),
    "a selector": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}},
        "InvalidSelector",
    ),
}


@pytest.mark.parametrize(("spec", "reason"), STALLED.values(), ids=STALLED)
async def test_a_policy_that_is_invalid_is_stalled_and_its_score_stands(
    plane: Api, spec: JsonObject, reason: str
) -> None:
    async with operating(plane) as live:
        await live.run_pod("web", BARE)
        await live.declare(TAG)
        await live.shows(healthScore=95)
        await live.settles()
        await live.change(spec)
        told = await live.says("Stalled", "True", reason)
        assert told["message"].startswith("spec.")
        await live.run_pod("api", GOOD)
        await asyncio.sleep(0.1)
        await live.shows(healthScore=95, pods=1)
        assert live.figure(f"devopspolicy_health_score|{live.namespace}|main") == 95
        assert len(await eventually(lambda: live.events(reason))) == 1
        await live.change(dict.fromkeys(spec))
        await live.shows(healthScore=98, pods=2)
        await live.settles()


async def deploy(live: Live, name: str, replicas: int, kind: Kind = DEPLOYMENT, **metadata: object) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [GOOD]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": kind.kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return await live.client.create(kind.path(live.namespace), body)


async def test_workloads_and_their_budgets_are_evaluated_if_a_policy_checks_them(api: Api) -> None:
    async with operating(api) as live:
        await deploy(live, "web", 1)
        await live.run_pod("web", GOOD)
        await live.declare(TAG, "tags")
        await live.settles("tags")
        watched = {each.source.path for each in live.manager.informers}
        assert not any("deployments" in each or "disruption" in each for each in watched)
        await live.declare({"minReplicas": 2})
        await live.shows(violations=1, healthScore=97)
        watched = {each.source.path for each in live.manager.informers}
        assert not any("disruption" in each for each in watched)
        await live.change({"requireDisruptionBudget": True})
        await live.shows(violations=2, healthScore=95)
        await live.client.merge(DEPLOYMENT.path(live.namespace, "web"), {"spec": {"replicas": 2}})
        await live.shows(violations=1)
        budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
        await live.client.create(DISRUPTION_BUDGET.path(live.namespace), budget)
        await live.shows(violations=0, healthScore=100)
        await live.client.delete(DISRUPTION_BUDGET.path(live.namespace, "web"))
        await live.shows(violations=1)
        await live.client.delete(DEPLOYMENT.path(live.namespace, "web"))
        await live.shows(violations=0)


async def test_a_replica_set_counts_as_long_as_nobody_owns_it(api: Api) -> None:
    async with operating(api) as live:
        owner = await deploy(live, "shop", 2)
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "uid": owner["metadata"]["uid"]}
        await deploy(live, "shop-5d4f", 1, REPLICA_SET, ownerReferences=[reference])
        await deploy(live, "lone", 1, REPLICA_SET)
        await live.declare({"minReplicas": 2})
        await live.shows(violations=1)
        (result,) = await eventually(live.results)
        key = f"replicaset/{live.namespace}/lone"
        assert [each["podName"] for each in result["spec"]["violations"]] == [key]
        await live.change({"requireDisruptionBudget": True})
        await live.shows(violations=3)
        path = REPLICA_SET.path(live.namespace, "lone")
        await live.client.merge(path, {"metadata": {"ownerReferences": [reference]}})
        await live.shows(violations=1)
        await live.client.merge(path, {"metadata": {"ownerReferences": None}})
        await live.shows(violations=3)
        await live.client.delete(path)
        await live.shows(violations=1)


async def test_a_changed_workload_is_evaluated_alone(plane: Api) -> None:
    async with operating(plane) as live:
        for number in range(5):
            await deploy(live, f"web-{number}", 1)
        await live.declare({"minReplicas": 2})
        await live.shows(violations=5)
        await live.settles()
        await live.client.merge(DEPLOYMENT.path(live.namespace, "web-3"), {"spec": {"replicas": 2}})
        await live.shows(violations=4)
        await live.client.delete(DEPLOYMENT.path(live.namespace, "web-4"))
        await live.shows(violations=3)


async def test_workloads_are_not_counted_as_pods(plane: Api) -> None:
    async with operating(plane) as live:
        await live.declare({"minReplicas": 2, **TEAM})
        await live.settles()
        await deploy(live, "web", 1)
        await live.shows(violations=1, pods=0)
        assert live.figure(SCANNED) == 0
