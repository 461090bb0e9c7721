"""The admission webhook over HTTP: which policies have a say, what is answered, and that it always is."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.client.base import Transport
from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import NAMESPACE
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
from homeostat.plane import Plane
from homeostat.runtime.cache.informer import Informers
from homeostat.testing.eventually import eventually
from homeostat.web.admission.metrics import AdmissionMetrics
from homeostat.web.admission.policies import ActivePolicies
from homeostat.web.admission.webhook import Gate
from tests.holds import measured_turns
from tests.runtime.faulty import FaultyTransport
from tests.web.dense import LONGEST_TURN_S, dense_body
from tests.web.reviewing import BARE, DENYING, GOOD, Webhook, open_webhook, pod, review

TAGS: JsonObject = {"forbidLatestTag": True, "enforcementMode": "enforce"}


async def declare_wide(webhook: Webhook, spec: JsonObject, name: str = "all") -> None:
    kind = CLUSTER_DEVOPS_POLICY.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
    await webhook.client.create(kind.path(""), body)


async def test_a_pod_that_breaks_a_policy_is_denied_with_all_findings(webhook: Webhook) -> None:
    await webhook.declare(DENYING)
    assert await webhook.denies() == (
        "Denied by DevOpsPolicy: container 'main' uses :latest tag, "
        "container 'main' missing liveness probe, container 'main' missing readiness probe (policy main)"
    )
    answer = await webhook.ask(GOOD)
    assert (answer.status, answer.response) == (200, {"uid": "u-1", "allowed": True})
    assert (answer.body["apiVersion"], answer.body["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")


async def test_every_policy_of_the_namespace_and_of_the_cluster_has_its_say(webhook: Webhook) -> None:
    await webhook.declare(TAGS, "b")
    await webhook.declare({"requireReadinessProbe": True, "enforcementMode": "enforce"}, "a")
    await declare_wide(webhook, {"requireLivenessProbe": True, "enforcementMode": "enforce"})
    wanted = "Denied by DevOpsPolicy: container 'main' missing readiness probe, container 'main' uses :latest tag, "
    wanted += "container 'main' missing liveness probe (policies a, b, ClusterDevOpsPolicy all)"
    await eventually(webhook.denies, lambda message: message == wanted)
    assert "liveness" in await webhook.denies(namespace="elsewhere")


async def test_a_policy_that_audits_warns_with_mode_auto(webhook: Webhook) -> None:
    await webhook.declare({"forbidLatestTag": True, "admission": {"mode": "auto"}})
    told = await eventually(webhook.allows, lambda response: "warnings" in response)
    assert told["warnings"] == ["DevOpsPolicy: container 'main' uses :latest tag"]


async def test_policies_are_followed_as_they_change(webhook: Webhook) -> None:
    path = DEVOPS_POLICY.kind.path("default", "main")
    await webhook.declare(TAGS)
    await webhook.denies()
    await webhook.client.merge(path, {"spec": {"admission": {"mode": "warn"}}})
    await webhook.allows()
    await webhook.client.merge(path, {"spec": {"admission": None}})
    await webhook.denies()
    await webhook.client.merge(path, {"spec": {"rules": [{"name": "no", "expression": "object.("}]}})
    await webhook.allows()
    await webhook.client.merge(path, {"spec": {"rules": None}})
    await webhook.denies()
    await webhook.client.delete(path)
    assert await webhook.allows() == {"uid": "u-1", "allowed": True}


NOTHING: JsonObject = {"rules": [{"name": "no", "expression": "object.("}], "enforcementMode": "enforce"}
TEAM: JsonObject = {"matchLabels": {"team": "shop"}}


async def warned(webhook: Webhook, namespace: str = "default") -> list[str]:
    found = await eventually(lambda: webhook.allows(GOOD, namespace=namespace), lambda response: "warnings" in response)
    warnings: list[str] = found["warnings"]
    return warnings


async def test_a_policy_that_is_stalled_warns_that_it_judges_nothing(webhook: Webhook) -> None:
    await webhook.declare(NOTHING)
    (told,) = await warned(webhook)
    assert told.startswith(
        "DevOpsPolicy: policy main is invalid and was not evaluated: spec.rules[0].expression: does not compile"
    )
    assert (await webhook.allows(GOOD, namespace="elsewhere")) == {"uid": "u-1", "allowed": True}
    await webhook.client.merge(DEVOPS_POLICY.kind.path("default", "main"), {"spec": {"rules": None}})
    await eventually(lambda: webhook.allows(GOOD), lambda response: "warnings" not in response)


async def test_a_policy_that_is_stalled_says_so_only_where_it_would_have_judged(webhook: Webhook) -> None:
    await webhook.client.create(NAMESPACE.path(""), {"metadata": {"name": "shop", "labels": {"team": "shop"}}})
    await webhook.declare({**NOTHING, "selector": TEAM}, "some")
    await webhook.declare({**NOTHING, "admission": {"mode": "off"}}, "silent")
    await declare_wide(webhook, {**NOTHING, "namespaceSelector": TEAM}, "team")
    await declare_wide(webhook, {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "whom")
    names = [each.split()[3] for each in await warned(webhook, "shop")]
    assert names == ["team", "whom"]
    assert [each.split()[3] for each in await warned(webhook)] == ["whom"]


async def test_a_policy_that_is_being_deleted_has_no_say(webhook: Webhook) -> None:
    await webhook.declare(TAGS, finalizers=["example.com/keep"])
    await webhook.denies()
    await webhook.client.delete(DEVOPS_POLICY.kind.path("default", "main"))
    await webhook.allows()


async def test_a_policy_of_the_cluster_means_the_namespaces_of_its_selector(webhook: Webhook) -> None:
    await webhook.client.create(NAMESPACE.path(""), {"metadata": {"name": "shop", "labels": {"tier": "front"}}})
    chosen = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}]}
    await declare_wide(webhook, {**TAGS, "namespaceSelector": chosen})
    await webhook.denies(namespace="shop")
    await webhook.allows(namespace="nobody-knows-it")
    await webhook.client.merge(NAMESPACE.path("", "shop"), {"metadata": {"labels": {"tier": "back"}}})
    await webhook.allows(namespace="shop")


LET_IN = {
    "a namespace of the system": {"namespace": "kube-system"},
    "no object": {"object": None},
    "not a Pod": {"object": {"apiVersion": "v1", "kind": "ConfigMap"}},
    "no spec": {"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}},
    "not readable": {"object": {"kind": "Pod", "spec": {"containers": "many"}}},
    "a change of what was so before": {"operation": "UPDATE", "oldObject": pod()},
    "a deletion": {"operation": "DELETE", "object": None, "oldObject": pod()},
}


@pytest.mark.parametrize("fields", LET_IN.values(), ids=LET_IN)
async def test_what_cannot_be_judged_is_let_in(webhook: Webhook, fields: JsonObject) -> None:
    await declare_wide(webhook, TAGS)
    await webhook.denies()
    assert (await webhook.ask(**fields)).response["allowed"] is True


NO_REVIEW = {"nothing": b"", "no JSON": b"{", "another thing": b"[]", "no request": b"{}", "deep": b"[" * 100_000}


@pytest.mark.parametrize("body", NO_REVIEW.values(), ids=NO_REVIEW)
async def test_what_is_no_review_is_refused_and_allowed(webhook: Webhook, body: bytes) -> None:
    answer = await webhook.post(body)
    assert (answer.status, answer.response) == (400, {"uid": "", "allowed": True})


async def test_a_body_has_a_largest_size(webhook: Webhook) -> None:
    large = await webhook.post(review(pod({**GOOD, "image": "x" * 7_000_000})))
    assert large.is_allowed
    assert (await webhook.post(b" " * 8_500_000)).status == 413


async def test_a_large_review_is_decoded_beside_the_event_loop(webhook: Webhook) -> None:
    body = dense_body("request")
    async with measured_turns() as turns:
        found = await webhook.post(body)
    assert found.response == {"uid": "", "allowed": True}
    assert turns.longest_s < LONGEST_TURN_S


async def test_pages_report_health_and_readiness(webhook: Webhook) -> None:
    assert await webhook.page("/healthz") == (200, "OK")
    assert await webhook.page("/readyz") == (200, "READY")
    assert (await webhook.page("/other"))[0] == 404
    assert (await webhook.page("/validate"))[0] == 405


async def test_before_the_policies_are_known_it_is_not_ready_and_denies_nothing(plane: Plane) -> None:
    held = asyncio.Event()
    faulty: list[FaultyTransport] = []

    def between(transport: Transport) -> FaultyTransport:
        faulty.append(FaultyTransport(transport))
        faulty[0].held = {DEVOPS_POLICY.kind.path(""): held}
        return faulty[0]

    async with open_webhook(plane.client.over(between)) as webhook:
        await webhook.declare(TAGS)
        await asyncio.sleep(0.1)
        assert await webhook.page("/readyz") == (503, "NOT READY")
        assert (await webhook.ask()).is_allowed
        held.set()
        await webhook.is_ready()
        await webhook.denies()


async def test_the_figures_count_requests_denials_and_time(webhook: Webhook) -> None:
    await webhook.client.create(NAMESPACE.path(""), {"metadata": {"name": "shop"}})
    assert "webhook_request_duration_seconds_count 0.0" in await webhook.metrics()
    rule = {"name": "own", "expression": "false"}
    await webhook.declare({**DENYING, "rules": [rule]}, namespace="shop")
    await webhook.denies(namespace="shop")
    await webhook.ask(GOOD, operation="made up")
    await webhook.post(b"")
    found = await webhook.metrics()
    assert 'webhook_requests_total{allowed="false",operation="CREATE"} 1.0' in found
    assert 'webhook_requests_total{allowed="true",operation="unknown"} 2.0' in found
    for violation in ("latest_tag", "missing_liveness", "missing_readiness", "unknown"):
        assert f'webhook_denials_total{{namespace="shop",violation="{violation}"}} 1.0' in found
    await webhook.client.delete(NAMESPACE.path("", "shop"))
    finalized = {**await webhook.client.get(NAMESPACE.path("", "shop")), "spec": {"finalizers": []}}
    await webhook.client.request("PUT", f"{NAMESPACE.path('', 'shop')}/finalize", body=finalized)
    await eventually(webhook.metrics, lambda lines: not any("denials_total{" in each for each in lines))


async def test_a_namespace_that_nobody_knows_makes_no_series(webhook: Webhook) -> None:
    await declare_wide(webhook, TAGS)
    for name in ("one", "two", "three"):
        await webhook.denies(namespace=name)
    lines = {each for each in await webhook.metrics() if each.startswith("webhook_denials_total{")}
    assert lines == {'webhook_denials_total{namespace="unknown",violation="latest_tag"} 3.0'}


@pytest.mark.parametrize(
    ("query", "asked"), [("", 2), ("timeout=10s", 2), ("timeout=2s", 1), ("timeout=0s", 0), ("timeout=soon", 2)]
)
async def test_policies_are_asked_as_long_as_there_is_time(plane: Plane, query: str, asked: int) -> None:
    """Every reading of the clock takes 0.6 s here."""
    informers = Informers(plane.client)
    policies, metrics = ActivePolicies(informers), AdmissionMetrics()
    times = iter(range(100))
    gate = Gate(policies, metrics, clock=lambda: next(times) * 0.6)
    async with open_webhook(plane.client) as webhook, asyncio.TaskGroup() as tasks:
        await webhook.declare(TAGS, "a")
        await webhook.declare({"requireLivenessProbe": True, "enforcementMode": "enforce"}, "b")
        following = tasks.create_task(informers.run())
        await eventually(lambda: policies.is_known)
        request = Request("POST", "/validate", query, Headers(), review(pod(BARE)), Peer(""), {})
        reply = gate.validate(request, {})
        following.cancel()
    assert isinstance(reply, Reply)
    body = reply.body
    assert isinstance(body, bytes)
    assert [b"latest" in body, b"liveness" in body].count(True) == asked
    assert metrics.hurried == (asked < 2)


async def test_a_stalled_policy_is_counted_and_logged(webhook: Webhook, caplog: pytest.LogCaptureFixture) -> None:
    await webhook.declare(NOTHING)
    await webhook.declare({**NOTHING, "admission": {"mode": "off"}}, "silent")
    await eventually(webhook.metrics, lambda found: "webhook_stalled_policies 2.0" in found)
    logged = [each for each in caplog.records if each.message == "policy is invalid; at admission it denies nothing"]
    assert {(each.__dict__["namespace"], each.__dict__["policy"]) for each in logged} == {
        ("default", "main"),
        ("default", "silent"),
    }
    await webhook.client.merge(DEVOPS_POLICY.kind.path("default", "main"), {"spec": {"rules": None}})
    await eventually(webhook.metrics, lambda found: "webhook_stalled_policies 1.0" in found)


async def test_a_large_policy_is_compiled_beside_and_then_applies(webhook: Webhook) -> None:
    rules = [{"name": f"r{at}", "expression": "object.kind == 'Pod'" + " && true" * 200} for at in range(20)]
    await webhook.declare({"rules": [*rules, {"name": "no", "expression": "false", "message": "never"}]})
    assert await webhook.denies(GOOD) == "Denied by DevOpsPolicy: never (policy main)"
    await webhook.client.merge(DEVOPS_POLICY.kind.path("default", "main"), {"spec": {"rules": None}})
    await webhook.allows(GOOD)
