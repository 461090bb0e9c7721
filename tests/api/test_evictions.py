"""Evictions of Pods, and the budgets that they are charged to."""

from __future__ import annotations

from typing import Any

from tests.api.conftest import MERGE_PATCH, Api

PODS = "/api/v1/namespaces/default/pods"
BUDGET = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def running_pod(api: Api) -> None:
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "main", "image": "nginx:1"}]}
    await api("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    assert (await api("PATCH", f"{PODS}/p/status", {"status": status}, type=MERGE_PATCH)).status == 200


async def budget(api: Api, spec: dict[str, Any], allowed: int) -> None:
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
    await api("POST", BUDGET, body)
    status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "observedGeneration": 1}
    assert (await api("PATCH", f"{BUDGET}/b/status", {"status": status}, type=MERGE_PATCH)).status == 200


async def evict(api: Api, **options: Any) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": options}
    return (await api("POST", f"{PODS}/p/eviction", body)).status


async def test_a_budget_with_an_empty_selector_protects_every_pod(api: Api) -> None:
    await running_pod(api)
    await budget(api, {"minAvailable": 1, "selector": {}}, allowed=0)
    assert await evict(api) == 429
    await api("DELETE", f"{BUDGET}/b")
    await budget(api, {"minAvailable": 1}, allowed=0)
    assert await evict(api) == 201


async def test_an_eviction_that_deletes_nothing_charges_no_budget(api: Api) -> None:
    await running_pod(api)
    await budget(api, {"minAvailable": 1, "selector": {}}, allowed=1)
    assert await evict(api, preconditions={"uid": "other"}) == 409
    assert await evict(api, dryRun=["x"]) == 422
    assert await evict(api, propagationPolicy="Bogus") == 422
    assert (await api("GET", f"{BUDGET}/b")).json["status"]["disruptionsAllowed"] == 1
    assert await evict(api) == 201
    assert (await api("GET", f"{BUDGET}/b")).json["status"]["disruptionsAllowed"] == 0
