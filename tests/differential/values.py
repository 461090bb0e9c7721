"""The part of the conversation that is about zeros, quantities and times: Go structs hold them otherwise than JSON."""

from __future__ import annotations

from typing import Any

from tests.differential.step import APPLY, DEPLOY, JSON, MERGE, NS, STRATEGIC, Step, api

LEASES = "/apis/coordination.k8s.io/v1/namespaces/diff/leases"
_LIMITS = {"cpu": 1, "memory": "1024Mi", "ephemeral-storage": "0.5Gi"}
_REQUESTS = {"cpu": 0.5, "memory": "100000k", "ephemeral-storage": "1e3"}
_CONTAINER = {
    "name": "main",
    "image": "nginx:1",
    "args": [],
    "command": [],
    "env": [{"name": "EMPTY", "value": ""}],
    "ports": [],
    "stdin": False,
    "workingDir": "",
    "resources": {"limits": _LIMITS, "requests": _REQUESTS},
    "livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 0},
}
_SPEC = {
    "containers": [_CONTAINER],
    "dnsPolicy": "",
    "hostIPC": False,
    "hostNetwork": False,
    "nodeSelector": {},
    "priorityClassName": "",
    "restartPolicy": "",
    "tolerations": [],
    "volumes": [{"name": "v", "emptyDir": {"medium": "", "sizeLimit": "2048Ki"}}],
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
}


def _deployment(name: str = "valued", **template: Any) -> dict[str, Any]:
    labels = {"app": "valued"}
    spec = {
        "replicas": 0,
        "paused": False,
        "minReadySeconds": 0,
        "selector": {"matchLabels": labels, "matchExpressions": []},
        "template": {"metadata": {"labels": labels, "annotations": {}}, "spec": {**_SPEC, **template}},
    }
    return api("Deployment", "apps/v1", name, spec=spec)


def _pod(name: str, **resources: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "b", "resources": resources}
    return api("Pod", "v1", name, spec={"containers": [container]})


def _lease(name: str, **spec: Any) -> dict[str, Any]:
    return api("Lease", "coordination.k8s.io/v1", name, spec={"holderIdentity": "h", **spec})


_TIMES = {
    "in microseconds": "2024-01-01T00:00:00.000000Z",
    "in another zone": "2024-01-01T02:00:00.500000+02:00",
    "in whole seconds": "2024-01-01T00:00:00Z",
    "in milliseconds": "2024-01-01T00:00:00.000Z",
    "in nanoseconds": "2024-01-01T00:00:00.000000000Z",
    "of no month": "2024-13-01T00:00:00.000000Z",
    "without a zone": "2024-01-01T00:00:00.000000",
    "in words": "yesterday",
}
_SECONDS = {
    "in whole seconds": "2024-01-01T00:00:00Z",
    "in another zone": "2024-01-01T02:00:00+02:00",
    "in parts of seconds": "2024-01-01T00:00:00.987Z",
    "of no month": "2024-13-01T00:00:00Z",
    "in small letters": "2024-01-01t00:00:00z",
}
_QUANTITIES = ("1000", "0.1k", "1.5Gi", "1024Ki", "0.5Ki", "1e3", "12E2", "-0", "1_0", "1 ", "", "100.000", "1Zi")

VALUE_STEPS = [
    Step("values created", "POST", DEPLOY, _deployment()),
    Step("values put again", "PUT", f"{DEPLOY}/valued", _deployment()),
    Step("values put without zeros", "PUT", f"{DEPLOY}/valued", _deployment(nodeSelector=None, tolerations=None)),
    Step("values merged", "PATCH", f"{DEPLOY}/valued", {"spec": {"paused": False, "minReadySeconds": 0}}, MERGE),
    Step(
        "values merged strategically",
        "PATCH",
        f"{DEPLOY}/valued",
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1000m"}}}]}}}},
        STRATEGIC,
    ),
    Step(
        "values patched",
        "PATCH",
        f"{DEPLOY}/valued",
        [{"op": "add", "path": "/spec/template/spec/hostPID", "value": False}],
        JSON,
    ),
    Step("values applied", "PATCH", f"{DEPLOY}/applied-values?fieldManager=one", _deployment("applied-values"), APPLY),
    Step(
        "values applied again",
        "PATCH",
        f"{DEPLOY}/applied-values?fieldManager=one",
        _deployment("applied-values"),
        APPLY,
    ),
    Step(
        "values with a null quantity",
        "POST",
        f"{NS}/pods?dryRun=All",
        _pod("nulled", limits={"cpu": None}, requests={"cpu": "1"}),
    ),
    *(
        Step(f"quantity {text!r}", "POST", f"{NS}/pods?dryRun=All", _pod("counted", limits={"memory": text}))
        for text in _QUANTITIES
    ),
    *(
        Step(f"lease renewed {name}", "POST", f"{LEASES}?dryRun=All", _lease("timed", renewTime=moment))
        for name, moment in _TIMES.items()
    ),
    *(
        Step(
            f"event seen {name}",
            "POST",
            f"{NS}/events?dryRun=All",
            api("Event", "v1", "timed", involvedObject={"namespace": "diff"}, firstTimestamp=moment, count=0),
        )
        for name, moment in _SECONDS.items()
    ),
    Step(
        "secret in lines",
        "POST",
        f"{NS}/secrets?dryRun=All",
        api("Secret", "v1", "lines", data={"a": "aGVs\nbG8=\n"}, stringData={}, type="", immutable=False),
    ),
    Step("configmap of empty maps", "POST", f"{NS}/configmaps?dryRun=All", api("ConfigMap", "v1", "empty", data={})),
]
VALUED = ("values created", "values put again", "values merged strategically", "values patched", "values applied again")
"""Steps whose managers and generation are compared too."""
