"""ResourceQuotas are kept in the commit of the write that they count."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.admission.plugins import quota
from homeostat.server.kinds.builtins.checks.quota import CHECKS
from tests.api.conftest import MERGE_PATCH, Api

PODS = "/api/v1/namespaces/default/pods"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
SERVICES = "/api/v1/namespaces/default/services"


def _pod(name: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m"}}
    spec = {"containers": [{"name": "main", "image": "nginx:1", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _service(name: str, kind: str, **metadata: Any) -> dict[str, Any]:
    spec = {"type": kind, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **metadata}, "spec": spec}


async def _limit(api: Api, **hard: str) -> None:
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    assert (await api("POST", QUOTAS, body)).status == 201


async def _used(api: Api) -> dict[str, str]:
    used: dict[str, str] = (await api("GET", f"{QUOTAS}/q")).json["status"]["used"]
    return used


async def test_writes_at_the_same_time_cannot_exceed_a_quota_together(api: Api) -> None:
    await _limit(api, pods="5", **{"requests.cpu": "2"})
    answers = await asyncio.gather(*(api("POST", PODS, _pod(f"p{number}")) for number in range(20)))
    assert sorted(answer.status for answer in answers) == [201] * 5 + [403] * 15
    assert await _used(api) == {"pods": "5", "requests.cpu": "500m"}
    assert len((await api("GET", PODS)).json["items"]) == 5


async def test_writes_at_the_same_time_are_charged_once_each(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await _limit(api, **{"count/configmaps": "100"})
    charged: list[str] = []
    charges = quota.Quotas.charges

    async def recorded(self: quota.Quotas, call: Any, new: Any, old: Any) -> Any:
        charged.append(call.kind.resource)
        return await charges(self, call, new, old)

    monkeypatch.setattr(quota.Quotas, "charges", recorded)
    before = int((await _used(api))["count/configmaps"])
    names = [f"c{number}" for number in range(40)]
    maps = "/api/v1/namespaces/default/configmaps"
    bodies = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in names]
    answers = await asyncio.gather(*(api("POST", maps, body) for body in bodies))
    assert {answer.status for answer in answers} == {201}
    await asyncio.gather(*(api("POST", SERVICES, _service(name, "ClusterIP")) for name in names))
    await api("PATCH", f"{maps}/c1", {"data": {"a": "b"}}, type=MERGE_PATCH)
    assert charged == ["configmaps"] * 40
    assert await _used(api) == {"count/configmaps": str(before + 40)}


async def test_a_large_namespace_is_counted_in_a_thread_and_rarely(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        await api("POST", PODS, _pod(f"p{number}"))
        await api("POST", SERVICES, _service(f"s{number}", "ClusterIP"))
    decoded: list[tuple[str, bool]] = []

    def recorded(value: bytes) -> JsonObject:
        found = decode_stored(value)
        decoded.append((found["kind"], threading.current_thread() is threading.main_thread()))
        return found

    monkeypatch.setattr(quota, "decode_stored", recorded)
    monkeypatch.setattr(quota, "_RECOUNT_S", 600)
    await _limit(api, pods="12", services="30", **{"count/pods": "99"})
    answers = [await api("POST", PODS, _pod(f"more{number}")) for number in range(5)]
    assert [answer.status for answer in answers] == [201] * 2 + [403] * 3
    pods = [on_loop for kind, on_loop in decoded if kind == "Pod"]
    assert (any(pods), len(pods)) == (False, 20)
    assert "Service" not in {kind for kind, _ in decoded}
    assert await _used(api) == {"pods": "12", "services": "11", "count/pods": "12"}


async def test_usage_falls_when_a_pod_goes_or_ends(api: Api) -> None:
    await _limit(api, pods="2")
    for name in ("a", "b"):
        await api("POST", PODS, _pod(name))
    assert (await api("POST", PODS, _pod("c"))).status == 403
    await api("DELETE", f"{PODS}/a")
    assert await _used(api) == {"pods": "1"}
    await api("PATCH", f"{PODS}/b/status", {"status": {"phase": "Succeeded"}}, type=MERGE_PATCH)
    assert await _used(api) == {"pods": "0"}
    answers = await asyncio.gather(*(api("DELETE", f"{PODS}/{name}") for name in ("b", "none")))
    assert [answer.status for answer in answers] == [200, 404]
    assert await _used(api) == {"pods": "0"}


async def test_a_quota_counts_what_was_there_before_it_and_what_it_newly_limits(api: Api) -> None:
    for name in ("a", "b"):
        await api("POST", PODS, _pod(name))
    await _limit(api, pods="2")
    assert await _used(api) == {"pods": "2"}
    assert (await api("POST", PODS, _pod("c"))).status == 403
    more = {"spec": {"hard": {"pods": "3", "requests.cpu": "1", "count/configmaps": "9"}}}
    changed = await api("PATCH", f"{QUOTAS}/q", more, type=MERGE_PATCH)
    counted = len((await api("GET", "/api/v1/namespaces/default/configmaps")).json["items"])
    assert changed.json["status"]["used"] == {
        "pods": "2",
        "requests.cpu": "200m",
        "count/configmaps": str(counted),
    }
    assert (await api("POST", PODS, _pod("c"))).status == 201


async def test_a_wrong_count_refuses_nothing(api: Api) -> None:
    await _limit(api, pods="2")
    await api("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {"pods": "2"}}}, type=MERGE_PATCH)
    assert (await api("POST", PODS, _pod("a"))).status == 201
    assert await _used(api) == {"pods": "1"}


async def test_a_count_that_is_too_low_does_not_stay(api: Api) -> None:
    await _limit(api, pods="2")
    for name in ("a", "b"):
        await api("POST", PODS, _pod(name))
    await api("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {"pods": "0"}}}, type=MERGE_PATCH)
    assert await _used(api) == {"pods": "2"}
    assert (await api("POST", PODS, _pod("c"))).status == 403


async def test_an_object_gives_back_what_it_used_and_not_what_its_last_update_claims(api: Api) -> None:
    await _limit(api, **{"services.loadbalancers": "1"})
    await api("POST", SERVICES, _service("one", "LoadBalancer"))
    await api("POST", SERVICES, _service("two", "ClusterIP", finalizers=["example.com/hold"]))
    assert (await api("DELETE", f"{SERVICES}/two")).status == 200
    last = {"metadata": {"finalizers": None}, "spec": {"type": "LoadBalancer"}}
    await api("PATCH", f"{SERVICES}/two", last, type=MERGE_PATCH)
    assert (await api("GET", f"{SERVICES}/two")).status == 404
    assert await _used(api) == {"services.loadbalancers": "1"}
    assert (await api("POST", SERVICES, _service("three", "LoadBalancer"))).status == 403


async def test_a_quota_makes_containers_state_cpu_and_memory_but_no_ephemeral_storage(api: Api) -> None:
    await _limit(api, **{"requests.ephemeral-storage": "1Gi", "limits.memory": "1Gi"})
    refused = await api("POST", PODS, _pod("a"))
    assert (refused.status, refused.json["message"].partition("must specify ")[2]) == (403, "limits.memory for: main")
    sized = _pod("a")
    sized["spec"]["containers"][0]["resources"]["limits"] = {"memory": "1Mi"}
    assert (await api("POST", PODS, sized)).status == 201


async def test_a_limit_range_does_not_keep_a_deleted_claim(api: Api) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    meta = {"name": "c", "finalizers": ["example.com/hold"]}
    await api("POST", claims, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    limits = {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}]}
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds"}, "spec": limits}
    assert (await api("POST", "/api/v1/namespaces/default/limitranges", body)).status == 201
    assert (await api("DELETE", f"{claims}/c")).status == 200
    ended = await api("PATCH", f"{claims}/c", {"metadata": {"finalizers": None}}, type=MERGE_PATCH)
    assert (ended.status, (await api("GET", f"{claims}/c")).status) == (200, 404)


async def test_a_priority_class_without_a_name_is_invalid(api: Api) -> None:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {}, "value": 1}
    assert (await api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)).status == 422


@pytest.mark.parametrize(
    "spec",
    [
        {"scopes": ["Nonsense"]},
        {"scopes": ["BestEffort", "NotBestEffort"]},
        {"scopeSelector": {"matchExpressions": [{"scopeName": "Nonsense", "operator": "Exists"}]}},
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Bogus"}]}},
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
        {"scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "DoesNotExist"}]}},
        {
            "scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}],
            }
        },
    ],
    ids=["scope", "opposites", "selected scope", "operator", "no values", "operator of a plain scope", "values"],
)
def test_a_quota_that_would_enforce_nothing_is_invalid(spec: dict[str, Any]) -> None:
    assert CHECKS["", "ResourceQuota"]({"spec": {"hard": {"pods": "1"}, **spec}})


def test_the_scopes_of_kubernetes_are_valid() -> None:
    named = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    spec = {"hard": {"pods": "1"}, "scopes": ["Terminating"], "scopeSelector": {"matchExpressions": [named]}}
    assert CHECKS["", "ResourceQuota"]({"spec": spec}) == []


async def test_a_quota_counts_itself(api: Api) -> None:
    await _limit(api, resourcequotas="1", **{"count/resourcequotas": "2"})
    assert await _used(api) == {"resourcequotas": "1", "count/resourcequotas": "1"}
    other = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "other"}, "spec": {"hard": {}}}
    assert (await api("POST", QUOTAS, other)).status == 403
