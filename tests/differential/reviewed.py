"""The conversation that webhooks watch: which writes they are asked about, and what they may say."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from tests.differential.conversions import definition
from tests.differential.step import APPLY, JSON, MERGE, STRATEGIC, Step, api, cm
from tests.differential.webhook import Webhook

NAMESPACE = "reviewed"
NS = f"/api/v1/namespaces/{NAMESPACE}"
CM, PODS = f"{NS}/configmaps", f"{NS}/pods"
DEPLOY = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
V1 = f"/apis/example.com/v1/namespaces/{NAMESPACE}/lamps"
V2 = f"/apis/example.com/v2/namespaces/{NAMESPACE}/lamps"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LAMPS = definition(plural="lamps")
_ALL = ["CREATE", "UPDATE", "DELETE", "CONNECT"]


def _rule(groups: list[str], resources: list[str], versions: list[str]) -> dict[str, Any]:
    return {"operations": _ALL, "apiGroups": groups, "apiVersions": versions, "resources": resources}


_RULES = [
    _rule([""], ["configmaps", "pods", "pods/*", "serviceaccounts/token", "events"], ["*"]),
    _rule(["apps"], ["deployments", "deployments/*"], ["v1"]),
]
_LAMP_RULES = [_rule(["example.com"], ["lamps", "lamps/*"], ["v1"])]


def configurations(webhook: Webhook, server: str) -> list[Step]:
    """Of one server: its reviews come to paths that begin with its name."""

    def hook(name: str, rules: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return {
            "name": f"{name}.example.com",
            "clientConfig": webhook.client_config(f"/{server}/{name}"),
            "rules": rules,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            **more,
        }

    hooks = {
        "Mutating": [hook("all.mutating", _RULES)],
        "Validating": [
            hook("all.validating", _RULES),
            hook("exact.lamps", _LAMP_RULES, matchPolicy="Exact"),
            hook("equivalent.lamps", _LAMP_RULES, matchPolicy="Equivalent"),
        ],
    }
    return [
        Step(
            f"{kind} configuration",
            "POST",
            f"{ADMISSION}/{kind.lower()}webhookconfigurations",
            api(f"{kind}WebhookConfiguration", "admissionregistration.k8s.io/v1", "reviewed", webhooks=each),
        )
        for kind, each in hooks.items()
    ]


def answer(path: str, review: dict[str, Any]) -> dict[str, Any]:
    """What the webhook of a path says: the name of the object decides."""
    request = review["request"]
    name, is_mutating = request.get("name", ""), path.endswith("all.mutating")
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    if name == "patched" and is_mutating and request["operation"] == "CREATE":
        patch: list[dict[str, Any]] = [{"op": "add", "path": "/data/patched", "value": "yes"}]
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(patch)).decode()}
    if request.get("subResource") == "eviction" and is_mutating:
        patch = [{"op": "add", "path": "/deleteOptions", "value": {"gracePeriodSeconds": 7}}]
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(msgspec.json.encode(patch)).decode()}
    if name == "warned":
        response |= {"warnings": ["take care", 'of "quotes"'], "auditAnnotations": {"a": "b"}}
    if name == "denied":
        response |= {"allowed": False, "status": {"code": 418, "reason": "Teapot", "message": "short and stout"}}
    if name == "denied-silently" and not is_mutating:
        response |= {"allowed": False}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


_CONTAINER = {"name": "main", "image": "nginx:1"}


def _pod(name: str, **more: Any) -> dict[str, Any]:
    return api("Pod", "v1", name, spec={"automountServiceAccountToken": False, "containers": [_CONTAINER], **more})


def _deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [_CONTAINER]}}
    return api("Deployment", "apps/v1", name, spec={"selector": {"matchLabels": {"app": name}}, "template": template})


def _lamp(name: str, version: str, **spec: Any) -> dict[str, Any]:
    return api("Lamp", f"example.com/{version}", name, spec=spec)


_DEBUGGER = {"name": "debug", "image": "busybox", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
_RESIZED = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
_LEASED = {"resources": {"requests": {"cpu": "1"}}}

STEPS = [
    Step("create", "POST", CM, cm("a")),
    Step("create with options", "POST", f"{CM}?dryRun=All&fieldManager=me&fieldValidation=Strict", cm("b")),
    Step("create as somebody", "POST", f"{CM}?dryRun=All", cm("b"), user="eve", groups=("system:masters", "team")),
    Step("create what is patched", "POST", CM, cm("patched")),
    Step("create what is warned of", "POST", CM, cm("warned")),
    Step("create what is denied", "POST", CM, cm("denied")),
    Step("create what is denied silently", "POST", CM, cm("denied-silently")),
    Step("create what is invalid", "POST", CM, cm("Not-Valid")),
    Step("create again", "POST", CM, cm("a")),
    Step("put", "PUT", CM + "/a", cm("a", {"x": "2"})),
    Step("put what is not there", "PUT", CM + "/none", cm("none")),
    Step("merge patch", "PATCH", f"{CM}/a?dryRun=All&fieldManager=me", {"data": {"x": "3"}}, MERGE),
    Step("json patch", "PATCH", f"{CM}/a", [{"op": "add", "path": "/data/y", "value": "4"}], JSON),
    Step("strategic patch", "PATCH", f"{CM}/a", {"data": {"z": "5"}}, STRATEGIC),
    Step("patch of nothing", "PATCH", f"{CM}/a", {"data": {"z": "5"}}, MERGE),
    Step("apply a new one", "PATCH", f"{CM}/applied?fieldManager=me", cm("applied"), APPLY),
    Step("apply with force", "PATCH", f"{CM}/a?fieldManager=me&force=true", cm("a", {"x": "6"}), APPLY),
    Step("deployment", "POST", DEPLOY, _deployment("web")),
    Step("deployment status", "PATCH", f"{DEPLOY}/web/status", {"status": {"replicas": 1}}, MERGE),
    Step("deployment scale", "PATCH", f"{DEPLOY}/web/scale", {"spec": {"replicas": 3}}, MERGE),
    Step("deployment scale read", "GET", f"{DEPLOY}/web/scale"),
    Step("pod", "POST", PODS, _pod("p", containers=[{**_CONTAINER, **_LEASED}])),
    Step(
        "pod binding",
        "POST",
        f"{PODS}/p/binding",
        {**api("Binding", "v1", "p"), "target": {"kind": "Node", "name": "n1"}},
    ),
    Step(
        "pod ephemeral container",
        "PATCH",
        f"{PODS}/p/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [_DEBUGGER]}},
        STRATEGIC,
    ),
    Step("pod resize", "PATCH", f"{PODS}/p/resize", _RESIZED, STRATEGIC),
    Step("pod status", "PATCH", f"{PODS}/p/status", {"status": {"phase": "Succeeded"}}, STRATEGIC),
    Step("pod eviction", "POST", f"{PODS}/p/eviction?dryRun=All", api("Eviction", "policy/v1", "p")),
    Step("pod deleted", "DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}),
    Step("token", "POST", f"{NS}/serviceaccounts/default/token", {"spec": {"audiences": ["a"]}}),
    Step("lamp", "POST", V1, _lamp("a", "v1", size=1)),
    Step("lamp of the other version", "POST", V2, _lamp("b", "v2", color="red")),
    Step("lamp patched at the other version", "PATCH", f"{V2}/a", {"spec": {"color": "blue"}}, MERGE),
    Step("lamp status", "PATCH", f"{V1}/a/status", {"status": {"phase": "on"}}, MERGE),
    Step("lamp scale", "PATCH", f"{V1}/a/scale", {"spec": {"replicas": 2}}, MERGE),
    Step("lamp scale at the other version", "PATCH", f"{V2}/b/scale", {"spec": {"replicas": 2}}, MERGE),
    Step("lamp deleted at the other version", "DELETE", f"{V2}/b"),
    Step("held", "POST", CM, cm("held", finalizers=["example.com/hold"])),
    Step("held deleted", "DELETE", f"{CM}/held"),
    Step("held deleted again", "DELETE", f"{CM}/held"),
    Step("held let go", "PATCH", f"{CM}/held", {"metadata": {"finalizers": []}}, MERGE),
    Step("dry deletion", "DELETE", f"{CM}/a?dryRun=All"),
    Step("deletion by options", "DELETE", f"{CM}/a", {"preconditions": {"uid": "other"}}),
    Step("deletion", "DELETE", f"{CM}/a?propagationPolicy=Orphan&gracePeriodSeconds=5"),
    Step("deletion of what is gone", "DELETE", f"{CM}/a"),
    Step("many", "POST", CM, cm("many", labels={"group": "many"})),
    Step("dry collection", "DELETE", f"{CM}?labelSelector=group=many&dryRun=All"),
    Step("collection", "DELETE", f"{CM}?labelSelector=group=many"),
    Step("collection of nothing", "DELETE", f"{CM}?labelSelector=group=none"),
]
