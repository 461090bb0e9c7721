"""The part of the conversation that is about Pods: their subresources, and the budgets that protect them."""

from __future__ import annotations

from typing import Any

from tests.differential.step import APPLY, DEPLOY, JSON, MERGE, NS, STRATEGIC, Step, api

PODS = f"{NS}/pods"
BUDGETS = "/apis/policy/v1/namespaces/diff/poddisruptionbudgets"


def record(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A Pod without a token."""
    container = {"name": "main", "image": "nginx:1"}
    pod = api("Pod", "v1", name, spec={"automountServiceAccountToken": False, "containers": [container], **spec})
    pod["metadata"]["labels"] = labels or {"app": name}
    return pod


def _resources(**amounts: Any) -> list[dict[str, Any]]:
    return [{"name": "main", "image": "nginx:1", "resources": amounts}]


def _eviction(name: str, **options: Any) -> dict[str, Any]:
    body = api("Eviction", "policy/v1", name)
    return {**body, "deleteOptions": options} if options else body


def _budget(name: str, app: str, **status: Any) -> list[Step]:
    selector = {"matchLabels": {"app": app}}
    spec = {"minAvailable": 1, "selector": selector}
    return [
        Step(f"budget {name}", "POST", BUDGETS, api("PodDisruptionBudget", "policy/v1", name, spec=spec)),
        Step(f"budget {name} status", "PATCH", f"{BUDGETS}/{name}/status", {"status": status}, MERGE),
    ]


def _running(name: str, *, is_ready: bool = True) -> list[Step]:
    condition = {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": None}
    status = {"phase": "Running", "conditions": [condition]}
    return [
        Step(f"pod {name}", "POST", PODS, record(name, {"app": name.partition("-")[0]})),
        Step(f"pod {name} runs", "PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE),
    ]


def _bind(name: str, **more: Any) -> dict[str, Any]:
    return {**api("Binding", "v1", name), "target": {"kind": "Node", "name": "n1"}, **more}


def _counts(allowed: int, healthy: int = 1, desired: int = 1, generation: int = 1) -> dict[str, Any]:
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": 2,
        **({"observedGeneration": generation} if generation else {}),
    }


_EVICTIONS = [
    Step("evict nothing", "POST", f"{PODS}/none/eviction", _eviction("none")),
    Step("pod free", "POST", PODS, record("free")),
    Step("evict another name", "POST", f"{PODS}/free/eviction", _eviction("other")),
    Step("evict wrong kind", "POST", f"{PODS}/free/eviction", api("Pod", "v1", "free")),
    Step("evict wrong uid", "POST", f"{PODS}/free/eviction", _eviction("free", preconditions={"uid": "other"})),
    Step(
        "evict wrong version",
        "POST",
        f"{PODS}/free/eviction",
        _eviction("free", preconditions={"resourceVersion": "1"}),
    ),
    Step("evict dry run", "POST", f"{PODS}/free/eviction?dryRun=All", _eviction("free")),
    Step("evict dry run by options", "POST", f"{PODS}/free/eviction", _eviction("free", dryRun=["All"])),
    Step("still there", "GET", f"{PODS}/free"),
    Step("evict odd dry run", "POST", f"{PODS}/free/eviction", _eviction("free", dryRun=["x"])),
    Step("evict odd policy", "POST", f"{PODS}/free/eviction", _eviction("free", propagationPolicy="Bogus")),
    Step(
        "evict two policies",
        "POST",
        f"{PODS}/free/eviction",
        _eviction("free", propagationPolicy="Orphan", orphanDependents=True),
    ),
    Step("delete odd dry run", "DELETE", f"{PODS}/free", {"dryRun": ["x"]}),
    Step("delete odd policy", "DELETE", f"{PODS}/free", {"propagationPolicy": "Bogus"}),
    Step("delete two policies", "DELETE", f"{PODS}/free", {"propagationPolicy": "Orphan", "orphanDependents": True}),
    Step("evict free", "POST", f"{PODS}/free/eviction", _eviction("free")),
    Step("evicted", "GET", f"{PODS}/free"),
    *_budget("tight", "tight", **_counts(0)),
    *_running("tight"),
    Step("evict tight", "POST", f"{PODS}/tight/eviction", _eviction("tight")),
    Step("evict tight dry", "POST", f"{PODS}/tight/eviction?dryRun=All", _eviction("tight")),
    *_running("tight-2", is_ready=False),
    Step("evict unready", "POST", f"{PODS}/tight-2/eviction", _eviction("tight-2")),
    Step("pod tight-3", "POST", PODS, record("tight-3", {"app": "tight"})),
    Step("evict pending", "POST", f"{PODS}/tight-3/eviction", _eviction("tight-3")),
    Step("tight ends", "PATCH", f"{PODS}/tight/status", {"status": {"phase": "Succeeded"}}, MERGE),
    Step("evict ended", "POST", f"{PODS}/tight/eviction", _eviction("tight")),
    *_budget("roomy", "roomy", **_counts(2, 3)),
    *_running("roomy"),
    Step("evict roomy dry", "POST", f"{PODS}/roomy/eviction?dryRun=All", _eviction("roomy")),
    Step("roomy uncharged", "GET", f"{BUDGETS}/roomy"),
    Step("evict roomy", "POST", f"{PODS}/roomy/eviction", _eviction("roomy")),
    Step("roomy charged", "GET", f"{BUDGETS}/roomy"),
    *_running("roomy-2"),
    Step("evict roomy to the last", "POST", f"{PODS}/roomy-2/eviction", _eviction("roomy-2")),
    Step("roomy used up", "GET", f"{BUDGETS}/roomy"),
    *_budget("unseen", "unseen", **_counts(1, generation=0)),
    *_running("unseen"),
    Step("evict unseen", "POST", f"{PODS}/unseen/eviction", _eviction("unseen")),
    *_budget("two-a", "two", **_counts(1)),
    *_budget("two-b", "two", **_counts(1)),
    *_running("two"),
    Step("evict of two budgets", "POST", f"{PODS}/two/eviction", _eviction("two")),
    Step("budget of nothing", "POST", BUDGETS, api("PodDisruptionBudget", "policy/v1", "nothing", spec={})),
    *_running("single"),
    Step("evict of a budget of nothing", "POST", f"{PODS}/single/eviction", _eviction("single")),
    Step(
        "budget of all",
        "POST",
        BUDGETS,
        api("PodDisruptionBudget", "policy/v1", "all", spec={"minAvailable": 1, "selector": {}}),
    ),
    Step("budget of all status", "PATCH", f"{BUDGETS}/all/status", {"status": _counts(1)}, MERGE),
    *_running("lone"),
    Step("evict of a budget of all", "POST", f"{PODS}/lone/eviction", _eviction("lone")),
    Step("budget of all charged", "GET", f"{BUDGETS}/all"),
    Step("budget of all goes", "DELETE", f"{BUDGETS}/all"),
    Step("eviction is not read", "GET", f"{PODS}/two/eviction"),
]

_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_DELETIONS = [
    Step("class held", "POST", _CLASSES, api("DeviceClass", "resource.k8s.io/v1", "held", spec={})),
    Step("delete held", "DELETE", f"{_CLASSES}/held", {"propagationPolicy": "Orphan"}),
    Step("delete terminating", "DELETE", f"{_CLASSES}/held", {"propagationPolicy": "Background"}),
    Step("held gone", "GET", f"{_CLASSES}/held"),
]

_BINDINGS = [
    Step("pod bound", "POST", PODS, record("bound")),
    Step("bind to no node", "POST", f"{PODS}/bound/binding", _bind("bound", target={"kind": "Node"})),
    Step("bind to a pod", "POST", f"{PODS}/bound/binding", _bind("bound", target={"kind": "Pod", "name": "x"})),
    Step("bind wrong uid", "POST", f"{PODS}/bound/binding", _bind("bound", metadata={"name": "bound", "uid": "other"})),
    Step("bind dry run", "POST", f"{PODS}/bound/binding?dryRun=All", _bind("bound")),
    Step("not bound yet", "GET", f"{PODS}/bound"),
    Step(
        "bind",
        "POST",
        f"{PODS}/bound/binding",
        _bind("bound", metadata={"name": "bound", "annotations": {"why": "room"}}),
    ),
    Step("bound now", "GET", f"{PODS}/bound"),
    Step("bind again", "POST", f"{PODS}/bound/binding", _bind("bound")),
    Step("bind nothing", "POST", f"{PODS}/none/binding", _bind("none")),
    Step("pod gated", "POST", PODS, record("gated", schedulingGates=[{"name": "example.com/wait"}])),
    Step("bind gated", "POST", f"{PODS}/gated/binding", _bind("gated")),
]

_LEASE = {"holderIdentity": "n9", "leaseDurationSeconds": 40, "renewTime": "2100-01-01T00:00:00.000000Z"}


def _on_node(name: str, **spec: Any) -> Step:
    return Step(f"pod {name}", "POST", PODS, record(name, nodeName="n9", **spec))


_GRACES = [
    Step(
        "lease of a kubelet",
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
        api("Lease", "coordination.k8s.io/v1", "n9", spec=_LEASE),
    ),
    _on_node("graceful"),
    Step("delete graceful dry", "DELETE", f"{PODS}/graceful?dryRun=All"),
    Step("delete graceful", "DELETE", f"{PODS}/graceful"),
    Step("graceful waits", "GET", f"{PODS}/graceful"),
    Step("delete graceful again", "DELETE", f"{PODS}/graceful"),
    Step("delete graceful later", "DELETE", f"{PODS}/graceful", {"gracePeriodSeconds": 60}),
    Step("delete graceful sooner", "DELETE", f"{PODS}/graceful?gracePeriodSeconds=5"),
    Step("evict graceful", "POST", f"{PODS}/graceful/eviction", _eviction("graceful")),
    Step("change graceful", "PATCH", f"{PODS}/graceful", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    Step("graceful still waits", "GET", f"{PODS}/graceful"),
    Step("delete graceful of another uid", "DELETE", f"{PODS}/graceful", {"preconditions": {"uid": "other"}}),
    Step("delete graceful by its kubelet", "DELETE", f"{PODS}/graceful", {"gracePeriodSeconds": 0}),
    Step("graceful gone", "GET", f"{PODS}/graceful"),
    _on_node("forced"),
    Step("delete forced", "DELETE", f"{PODS}/forced", {"gracePeriodSeconds": 0}),
    Step("forced gone", "GET", f"{PODS}/forced"),
    _on_node("hasty", terminationGracePeriodSeconds=0),
    Step("delete hasty", "DELETE", f"{PODS}/hasty"),
    Step("hasty gone", "GET", f"{PODS}/hasty"),
    _on_node("slow", terminationGracePeriodSeconds=90),
    Step("delete slow negative", "DELETE", f"{PODS}/slow", {"gracePeriodSeconds": -7}),
    Step("evict slow", "POST", f"{PODS}/slow/eviction", _eviction("slow", gracePeriodSeconds=0)),
    Step("slow gone", "GET", f"{PODS}/slow"),
    _on_node("over"),
    Step("over ends", "PATCH", f"{PODS}/over/status", {"status": {"phase": "Succeeded"}}, MERGE),
    Step("delete over", "DELETE", f"{PODS}/over"),
    Step("over gone", "GET", f"{PODS}/over"),
    _on_node("evicted"),
    Step("evict evicted", "POST", f"{PODS}/evicted/eviction", _eviction("evicted", gracePeriodSeconds=20)),
    Step("evicted waits", "GET", f"{PODS}/evicted"),
    _on_node("final"),
    Step("final held", "PATCH", f"{PODS}/final", {"metadata": {"finalizers": ["example.com/a"]}}, MERGE),
    Step("delete final", "DELETE", f"{PODS}/final", {"propagationPolicy": "Foreground"}),
    Step("delete final by its kubelet", "DELETE", f"{PODS}/final", {"gracePeriodSeconds": 0}),
    Step("delete final again", "DELETE", f"{PODS}/final", {"propagationPolicy": "Background"}),
    Step("final let go", "PATCH", f"{PODS}/final", {"metadata": {"finalizers": None}}, MERGE),
    Step("final gone", "GET", f"{PODS}/final"),
    _on_node("early-final"),
    Step("early-final held", "PATCH", f"{PODS}/early-final", {"metadata": {"finalizers": ["example.com/a"]}}, MERGE),
    Step("delete early-final", "DELETE", f"{PODS}/early-final"),
    Step("early-final let go", "PATCH", f"{PODS}/early-final", {"metadata": {"finalizers": None}}, MERGE),
    Step("early-final waits", "GET", f"{PODS}/early-final"),
    Step("delete many", "DELETE", f"{PODS}?labelSelector=app=early-final&gracePeriodSeconds=0"),
    Step("early-final gone", "GET", f"{PODS}/early-final"),
    Step("pod unbound", "POST", PODS, record("unbound")),
    Step("delete unbound", "DELETE", f"{PODS}/unbound"),
    Step("unbound gone", "GET", f"{PODS}/unbound"),
]

_EPHEMERAL = f"{PODS}/debug/ephemeralcontainers"


def _debugged(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"ephemeralContainers": list(containers)}}


_SHELL = {"name": "shell", "image": "busybox"}
_EPHEMERALS = [
    Step("pod debug", "POST", PODS, record("debug")),
    Step("ephemeral on create", "POST", PODS, record("early", ephemeralContainers=[_SHELL])),
    Step("ephemeral read", "GET", _EPHEMERAL),
    Step("ephemeral by main", "PATCH", f"{PODS}/debug", _debugged(_SHELL), STRATEGIC),
    Step("ephemeral added", "PATCH", _EPHEMERAL, _debugged({**_SHELL, "targetContainerName": "main"}), STRATEGIC),
    Step("ephemeral second", "PATCH", _EPHEMERAL, _debugged({"name": "shell-2", "image": "busybox"}), STRATEGIC),
    Step("ephemeral changed", "PATCH", _EPHEMERAL, _debugged({"name": "shell", "image": "other"}), STRATEGIC),
    Step("ephemeral removed", "PATCH", _EPHEMERAL, [{"op": "remove", "path": "/spec/ephemeralContainers/0"}], JSON),
    Step("ephemeral taken name", "PATCH", _EPHEMERAL, _debugged({"name": "main", "image": "b"}), STRATEGIC),
    Step("ephemeral without image", "PATCH", _EPHEMERAL, _debugged({"name": "x"}), STRATEGIC),
    Step(
        "ephemeral of no target",
        "PATCH",
        _EPHEMERAL,
        _debugged({"name": "x", "image": "b", "targetContainerName": "none"}),
        STRATEGIC,
    ),
    Step(
        "ephemeral with ports",
        "PATCH",
        _EPHEMERAL,
        _debugged({"name": "x", "image": "b", "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": "1"}}}),
        STRATEGIC,
    ),
    Step(
        "ephemeral and labels",
        "PATCH",
        _EPHEMERAL,
        {"metadata": {"labels": {"new": "label"}}, **_debugged({"name": "shell-3", "image": "b"})},
        STRATEGIC,
    ),
]


def _resize(**amounts: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "resources": amounts}]}}


def _with_policies(*policies: dict[str, str]) -> dict[str, Any]:
    amounts = {"requests": {"cpu": "200m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "2Mi"}}
    return {"name": "main", "image": "nginx:1", "resources": amounts, "resizePolicy": list(policies)}


_CPU = {"resourceName": "cpu", "restartPolicy": "NotRequired"}
_POLICIES = {
    "odd": _with_policies({"resourceName": "cpu", "restartPolicy": "Perhaps"}),
    "none": _with_policies({"resourceName": "cpu"}),
    "odd resource": _with_policies({"resourceName": "gpu", "restartPolicy": "NotRequired"}),
    "twice": _with_policies(_CPU, {**_CPU, "restartPolicy": "RestartContainer"}),
    "changed": _with_policies({**_CPU, "restartPolicy": "RestartContainer"}),
}
_RESIZE = f"{PODS}/sized/resize"
_RESIZES = [
    Step(
        "pod sized",
        "POST",
        PODS,
        record(
            "sized",
            containers=_resources(requests={"cpu": "100m", "memory": "1Mi"}, limits={"cpu": "1", "memory": "2Mi"}),
        ),
    ),
    Step("resize by main", "PATCH", f"{PODS}/sized", _resize(requests={"cpu": "200m"}), STRATEGIC),
    Step("resize", "PATCH", _RESIZE, _resize(requests={"cpu": "200m"}), STRATEGIC),
    Step("resize read", "GET", _RESIZE),
    *(
        Step(f"resize policy {name}", "PATCH", _RESIZE, {"spec": {"containers": [changed]}}, MERGE)
        for name, changed in _POLICIES.items()
    ),
    Step("resize beyond limit", "PATCH", _RESIZE, _resize(requests={"cpu": "3"}), STRATEGIC),
    Step(
        "resize to another class",
        "PATCH",
        _RESIZE,
        _resize(requests={"cpu": "1", "memory": "2Mi"}, limits={"cpu": "1", "memory": "2Mi"}),
        STRATEGIC,
    ),
    Step(
        "resize takes a limit away",
        "PATCH",
        _RESIZE,
        [{"op": "remove", "path": "/spec/containers/0/resources/limits/cpu"}],
        JSON,
    ),
    Step("resize of storage", "PATCH", _RESIZE, _resize(requests={"ephemeral-storage": "1Mi"}), STRATEGIC),
    Step("resize less memory", "PATCH", _RESIZE, _resize(limits={"memory": "1Mi"}), STRATEGIC),
    Step(
        "resize with image",
        "PATCH",
        _RESIZE,
        [{"op": "replace", "path": "/spec/containers/0/image", "value": "x"}],
        JSON,
    ),
    Step(
        "resize with another container",
        "PATCH",
        _RESIZE,
        {"spec": {"containers": [{"name": "side", "image": "b"}]}},
        STRATEGIC,
    ),
    Step("resize negative", "PATCH", _RESIZE, _resize(requests={"cpu": "-1"}), STRATEGIC),
]


def _scale(name: str, replicas: int) -> dict[str, Any]:
    return api("Scale", "autoscaling/v1", name, spec={"replicas": replicas})


_SCALES = [
    Step(
        "scaled deployment",
        "POST",
        f"{DEPLOY}?fieldManager=maker",
        api(
            "Deployment",
            "apps/v1",
            "scaled",
            spec={
                "replicas": 1,
                "selector": {"matchLabels": {"app": "scaled"}},
                "template": {
                    "metadata": {"labels": {"app": "scaled"}},
                    "spec": {"containers": [{"name": "c", "image": "b"}]},
                },
            },
        ),
    ),
    Step(
        "scale applied against the maker",
        "PATCH",
        f"{DEPLOY}/scaled/scale?fieldManager=hpa",
        _scale("scaled", 3),
        APPLY,
    ),
    Step(
        "scale applied by force",
        "PATCH",
        f"{DEPLOY}/scaled/scale?fieldManager=hpa&force=true",
        _scale("scaled", 3),
        APPLY,
    ),
    Step("scaled deployment get", "GET", f"{DEPLOY}/scaled"),
    Step("scale applied again", "PATCH", f"{DEPLOY}/scaled/scale?fieldManager=hpa", _scale("scaled", 3), APPLY),
    Step("scale applied further", "PATCH", f"{DEPLOY}/scaled/scale?fieldManager=hpa", _scale("scaled", 4), APPLY),
    Step("scale applied by another", "PATCH", f"{DEPLOY}/scaled/scale?fieldManager=hpa2", _scale("scaled", 5), APPLY),
    Step("scale shared", "PATCH", f"{DEPLOY}/scaled/scale?fieldManager=hpa2", _scale("scaled", 4), APPLY),
    Step("scale shared get", "GET", f"{DEPLOY}/scaled"),
    Step("scale put", "PUT", f"{DEPLOY}/scaled/scale?fieldManager=putter", _scale("scaled", 6)),
    Step("scale put get", "GET", f"{DEPLOY}/scaled"),
    Step("scale applied without manager", "PATCH", f"{DEPLOY}/scaled/scale", _scale("scaled", 3), APPLY),
    Step(
        "scale applied negative",
        "PATCH",
        f"{DEPLOY}/scaled/scale?fieldManager=hpa&force=true",
        _scale("scaled", -3),
        APPLY,
    ),
    Step("scale applied to nothing", "PATCH", f"{DEPLOY}/none/scale?fieldManager=hpa", _scale("none", 3), APPLY),
    Step(
        "scale applied as a deployment",
        "PATCH",
        f"{DEPLOY}/scaled/scale?fieldManager=hpa",
        api("Deployment", "apps/v1", "scaled", spec={"replicas": 1}),
        APPLY,
    ),
]

MANAGED = ("scaled deployment get", "scale shared get", "scale put get")
"""Steps whose managedFields are compared too."""

PODS_STEPS = [*_EVICTIONS, *_DELETIONS, *_BINDINGS, *_GRACES, *_EPHEMERALS, *_RESIZES, *_SCALES]
