"""The part of the conversation that is about quotas, limits and priorities."""

from __future__ import annotations

from typing import Any

from tests.differential.pods import record
from tests.differential.step import MERGE, Step, account, api

RANGE, QUOTA = "/api/v1/namespaces/diff-range", "/api/v1/namespaces/diff-quota"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def _pod(name: str, requests: Any = None, limits: Any = None, **spec: Any) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return record(name, containers=[{"name": "main", "image": "nginx:1", "resources": resources}], **spec)


def _claim(name: str, storage: str, attributes: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    if attributes:
        spec["volumeAttributesClassName"] = attributes
    return api("PersistentVolumeClaim", "v1", name, spec=spec)


def _quota(name: str, hard: dict[str, str], **spec: Any) -> list[Step]:
    """A quota whose status is set by hand, since no controller of the real server is there to do it."""
    quota = api("ResourceQuota", "v1", name, spec={"hard": hard, **spec})
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    return [
        Step(f"quota {name}", "POST", f"{QUOTA}/resourcequotas", quota),
        Step(f"quota {name} status", "PATCH", f"{QUOTA}/resourcequotas/{name}/status", {"status": status}, MERGE),
    ]


_LIMITS = [
    {
        "type": "Container",
        "default": {"cpu": "500m", "memory": "64Mi"},
        "defaultRequest": {"cpu": "100m"},
        "min": {"cpu": "50m"},
        "max": {"cpu": "1"},
        "maxLimitRequestRatio": {"cpu": "10"},
    },
    {"type": "Pod", "max": {"memory": "128Mi"}},
    {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}},
]
_AFTER = ("two containers beyond", [{"name": name, "image": "b"} for name in ("a", "b", "c")])

_RANGE_STEPS = [
    Step("range space", "POST", "/api/v1/namespaces", api("Namespace", "v1", "diff-range")),
    account("diff-range"),
    Step("range", "POST", f"{RANGE}/limitranges", api("LimitRange", "v1", "bounds", spec={"limits": _LIMITS})),
    Step("range fills in", "POST", f"{RANGE}/pods", _pod("plain")),
    Step("range keeps what is said", "POST", f"{RANGE}/pods", _pod("said", {"cpu": "200m"}, {"cpu": "300m"})),
    Step("range minimum", "POST", f"{RANGE}/pods", _pod("small", {"cpu": "10m"}, {"cpu": "60m"})),
    Step("range maximum", "POST", f"{RANGE}/pods", _pod("large", {"cpu": "500m"}, {"cpu": "2"})),
    Step("range ratio", "POST", f"{RANGE}/pods", _pod("wide", {"cpu": "60m"}, {"cpu": "900m"})),
    Step("range of the whole pod", "POST", f"{RANGE}/pods", record("many", containers=_AFTER[1])),
    Step("range of a claim", "POST", f"{RANGE}/persistentvolumeclaims", _claim("c1", "1Gi")),
    Step("range claim too small", "POST", f"{RANGE}/persistentvolumeclaims", _claim("c2", "1Mi")),
    Step("range claim too large", "POST", f"{RANGE}/persistentvolumeclaims", _claim("c3", "3Gi")),
]
_COMPUTE = {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi", "count/configmaps": "2", "secrets": "1"}
_SIZED = ({"cpu": "400m"}, {"memory": "256Mi"})


def _config(name: str) -> dict[str, Any]:
    return api("ConfigMap", "v1", name)


def _selector(scope: str, operator: str, *values: str) -> dict[str, Any]:
    return {
        "matchExpressions": [{"scopeName": scope, "operator": operator, **({"values": [*values]} if values else {})}]
    }


def _scoped(hard: str, scopes: list[str], selector: dict[str, Any] | None) -> dict[str, Any]:
    spec = {"hard": {hard: "1"}, **({"scopes": scopes} if scopes else {})}
    return api("ResourceQuota", "v1", "scoped", spec=spec | ({"scopeSelector": selector} if selector else {}))


_QUOTA_STEPS = [
    Step("quota space", "POST", "/api/v1/namespaces", api("Namespace", "v1", "diff-quota")),
    account("diff-quota"),
    *_quota("compute", _COMPUTE),
    Step("quota unspecified", "POST", f"{QUOTA}/pods", _pod("vague")),
    Step("quota dry run", "POST", f"{QUOTA}/pods?dryRun=All", _pod("one", *_SIZED)),
    Step("quota uncharged", "GET", f"{QUOTA}/resourcequotas/compute"),
    Step("quota one", "POST", f"{QUOTA}/pods", _pod("one", *_SIZED)),
    Step("quota charged", "GET", f"{QUOTA}/resourcequotas/compute"),
    *(
        Step(f"quota status of {name}", "PATCH", f"{QUOTA}/resourcequotas/compute/status", {"status": status}, MERGE)
        for name, status in (
            ("negative amounts", {"hard": {"pods": "-5"}, "used": {"pods": "-1"}}),
            ("a negative limit", {"hard": {"pods": "-5"}}),
            ("half a Pod", {"used": {"pods": "500m"}}),
            ("unknown names", {"hard": {"bogus": "5"}, "used": {"a/b/c": "1"}}),
            ("no amount", {"used": {"pods": "x"}}),
        )
    ),
    Step("quota cpu exceeded", "POST", f"{QUOTA}/pods", _pod("two", {"cpu": "700m"}, {"memory": "1Mi"})),
    Step("quota exceeded dry", "POST", f"{QUOTA}/pods?dryRun=All", _pod("two", {"cpu": "2"}, {"memory": "1Mi"})),
    Step("quota two", "POST", f"{QUOTA}/pods", _pod("two", *_SIZED)),
    Step("quota pods exceeded", "POST", f"{QUOTA}/pods", _pod("three", {"cpu": "1m"}, {"memory": "1Mi"})),
    Step("quota configmap", "POST", f"{QUOTA}/configmaps", _config("a")),
    Step("quota configmap again", "POST", f"{QUOTA}/configmaps", _config("b")),
    Step("quota configmaps exceeded", "POST", f"{QUOTA}/configmaps", _config("c")),
    Step("quota secret", "POST", f"{QUOTA}/secrets", api("Secret", "v1", "a")),
    Step("quota secrets exceeded", "POST", f"{QUOTA}/secrets", api("Secret", "v1", "b")),
    Step("quota not of services", "POST", f"{QUOTA}/endpoints", api("Endpoints", "v1", "e")),
    Step("quota full", "GET", f"{QUOTA}/resourcequotas/compute"),
    Step("quota ended", "DELETE", f"{QUOTA}/resourcequotas/compute"),
    *_quota("best-effort", {"pods": "0"}, scopes=["BestEffort"]),
    Step("quota scope not met", "POST", f"{QUOTA}/pods", _pod("burst", *_SIZED)),
    Step("quota scope met", "POST", f"{QUOTA}/pods", _pod("best")),
    Step("quota best-effort ended", "DELETE", f"{QUOTA}/resourcequotas/best-effort"),
    *_quota(
        "critical",
        {"pods": "0"},
        scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["diff-high"]}]},
    ),
    Step("class", "POST", CLASSES, {**api("PriorityClass", "scheduling.k8s.io/v1", "diff-high"), "value": 1000}),
    Step("quota class met", "POST", f"{QUOTA}/pods", _pod("high", priorityClassName="diff-high")),
    Step("quota class not met", "POST", f"{QUOTA}/pods", _pod("low")),
    *_quota("claims", {"requests.storage": "3Gi", "persistentvolumeclaims": "5"}),
    Step("quota claim", "POST", f"{QUOTA}/persistentvolumeclaims", _claim("c1", "2Gi")),
    Step("quota storage exceeded", "POST", f"{QUOTA}/persistentvolumeclaims", _claim("c2", "2Gi")),
    Step("quota claims charged", "GET", f"{QUOTA}/resourcequotas/claims"),
    Step("quota claims ended", "DELETE", f"{QUOTA}/resourcequotas/claims"),
    *_quota("gold", {"persistentvolumeclaims": "0"}, scopeSelector=_selector("VolumeAttributesClass", "In", "gold")),
    Step("quota attributes met", "POST", f"{QUOTA}/persistentvolumeclaims", _claim("gold", "1Gi", "gold")),
    Step("quota attributes not met", "POST", f"{QUOTA}/persistentvolumeclaims", _claim("plain", "1Gi")),
    *(
        Step(f"quota {name}", "POST", f"{QUOTA}/resourcequotas", _scoped(hard, scopes, selector))
        for name, hard, scopes, selector in (
            ("scope for secrets", "secrets", ["BestEffort"], None),
            ("scope of another resource", "requests.cpu", ["BestEffort", "NotBestEffort"], None),
            ("unknown scope", "pods", ["Other"], None),
            ("scope of claims", "pods", [], _selector("VolumeAttributesClass", "Exists")),
            ("scope that only exists", "pods", [], _selector("Terminating", "In", "a")),
            ("scope without values", "pods", [], _selector("PriorityClass", "In")),
            ("scope with values", "pods", [], _selector("PriorityClass", "Exists", "a")),
            ("scope of an unknown operator", "pods", [], _selector("PriorityClass", "Is", "a")),
        )
    ),
]


def _class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {**api("PriorityClass", "scheduling.k8s.io/v1", name), "value": value, **more}


_PRIORITY_STEPS = [
    Step("system class", "GET", f"{CLASSES}/system-node-critical"),
    Step("another system class", "POST", CLASSES, _class("system-other", 5)),
    Step("class too high", "POST", CLASSES, _class("diff-too-high", 2_000_000_000)),
    Step("class never", "POST", CLASSES, _class("diff-never", 7, preemptionPolicy="Never")),
    Step("pod of a class", "POST", f"{RANGE}/pods?dryRun=All", _pod("p", priorityClassName="diff-never"), is_late=True),
    Step("pod of no class", "POST", f"{RANGE}/pods?dryRun=All", _pod("p", priorityClassName="none")),
    Step("pod with a number", "POST", f"{RANGE}/pods?dryRun=All", _pod("p", priority=5)),
    Step("pod with a policy", "POST", f"{RANGE}/pods?dryRun=All", _pod("p", preemptionPolicy="Never")),
    Step("default class", "POST", CLASSES, _class("diff-default", 3, globalDefault=True)),
    Step(
        "second default class",
        "POST",
        f"{CLASSES}?dryRun=All",
        _class("diff-default-2", 3, globalDefault=True),
        is_late=True,
    ),
    Step("pod of the default class", "POST", f"{RANGE}/pods?dryRun=All", _pod("p"), is_late=True),
    Step("default class deleted", "DELETE", f"{CLASSES}/diff-default"),
    Step(
        "pod tolerates for ever",
        "POST",
        f"{RANGE}/pods?dryRun=All",
        _pod("p", tolerations=[{"operator": "Exists"}], priorityClassName="system-node-critical"),
    ),
    Step(
        "pod tolerates one",
        "POST",
        f"{RANGE}/pods?dryRun=All",
        _pod(
            "p",
            tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            priorityClassName="system-node-critical",
        ),
    ),
]

STORAGE, CLAIMS = "/apis/storage.k8s.io/v1/storageclasses", f"{RANGE}/persistentvolumeclaims?dryRun=All"


def _storage(name: str, mark: str = "storageclass.kubernetes.io/is-default-class") -> dict[str, Any]:
    found = api("StorageClass", "storage.k8s.io/v1", name)
    return {**found, "metadata": {"name": name, "annotations": {mark: "true"}}, "provisioner": "example.com/none"}


def _classed(name: str | None, **annotations: str) -> dict[str, Any]:
    claim = _claim("c4", "1Gi")
    spec, metadata = {**claim["spec"], "storageClassName": name}, {**claim["metadata"], "annotations": annotations}
    return {**claim, "metadata": metadata, "spec": spec}


_STORAGE_STEPS = [
    Step("claim without a default class", "POST", CLAIMS, _claim("c4", "1Gi")),
    Step("default storage class", "POST", STORAGE, _storage("diff-b")),
    Step("claim of the default class", "POST", CLAIMS, _claim("c4", "1Gi"), is_late=True),
    Step("claim of no class", "POST", CLAIMS, _classed(""), is_late=True),
    Step("claim of another class", "POST", CLAIMS, _classed("other"), is_late=True),
    Step(
        "claim of a class in an annotation",
        "POST",
        CLAIMS,
        _classed(None, **{"volume.beta.kubernetes.io/storage-class": "old"}),
        is_late=True,
    ),
    Step(
        "newer default storage class",
        "POST",
        STORAGE,
        _storage("diff-a", "storageclass.beta.kubernetes.io/is-default-class"),
    ),
    Step("claim of the newest default class", "POST", CLAIMS, _claim("c4", "1Gi"), is_late=True),
    Step("newer default storage class deleted", "DELETE", f"{STORAGE}/diff-a"),
    Step("default storage class deleted", "DELETE", f"{STORAGE}/diff-b"),
    Step("claim without a default class again", "POST", CLAIMS, _claim("c4", "1Gi"), is_late=True),
]

LIMITS_STEPS = [*_RANGE_STEPS, *_QUOTA_STEPS, *_PRIORITY_STEPS, *_STORAGE_STEPS]
