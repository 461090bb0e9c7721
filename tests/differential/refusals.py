"""The part of the conversation that is about rules that few manifests break and requests that few clients send."""

from __future__ import annotations

from typing import Any

from tests.differential.step import APPLY, CM, MERGE, NS, Step, api, cm

_JOBS = "/apis/batch/v1/namespaces/diff/jobs?dryRun=All"
_SETS = "/apis/apps/v1/namespaces/diff/statefulsets?dryRun=All"
_DAEMONS = "/apis/apps/v1/namespaces/diff/daemonsets?dryRun=All"
_SCALERS = "/apis/autoscaling/v2/namespaces/diff/horizontalpodautoscalers?dryRun=All"
_CLAIMS = f"{NS}/persistentvolumeclaims?dryRun=All"
_CONTAINER = {"name": "main", "image": "b"}


def _rule(action: str = "FailJob", **more: Any) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": [{"action": action, **more}]}}


def _codes(operator: str = "In", *values: int, **more: Any) -> dict[str, Any]:
    return _rule(onExitCodes={"operator": operator, "values": [*values], **more})


def _enough(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [*rules]}}


_JOB_SPECS: dict[str, dict[str, Any]] = {
    "fails by a code": _codes("In", 1, 2, containerName="main"),
    "without an action": _rule("", onPodConditions=[{"type": "A", "status": "True"}]),
    "of an odd action": _rule("Shout", onPodConditions=[{"type": "A", "status": "True"}]),
    "fails an index without a limit": _rule("FailIndex", onPodConditions=[{"type": "A", "status": "True"}]),
    "of an empty rule": _rule(),
    "of both patterns": {
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "Ignore",
                    "onExitCodes": {"operator": "In", "values": [1]},
                    "onPodConditions": [{"type": "A", "status": "True"}],
                }
            ]
        }
    },
    "of an odd condition": _rule(onPodConditions=[{"type": "a b", "status": "Perhaps"}]),
    "of an odd operator": _codes("Near", 1),
    "of no operator": _codes("", 1),
    "of no codes": _codes("In"),
    "of code zero": _codes("In", 0, 1),
    "of codes in disorder": _codes("NotIn", 3, 1, 1),
    "of another container": _codes("In", 1, containerName="other"),
    "replaces early": {**_codes("In", 1), "podReplacementPolicy": "TerminatingOrFailed"},
    "replaces oddly": {"podReplacementPolicy": "Never"},
    "of an odd manager": {"managedBy": "me"},
    "of no manager": {"managedBy": ""},
    "of a manager": {"managedBy": "example.com/me"},
    "limits indexes without an index": {"backoffLimitPerIndex": 1, "maxFailedIndexes": 1},
    "fails more than there are": {
        "completionMode": "Indexed",
        "completions": 2,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 3,
    },
    "fails indexes without a limit": {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 1},
    "is enough without an index": {"successPolicy": {"rules": [{"succeededCount": 1}]}},
    "is enough by no rule": _enough(),
    "is enough by an empty rule": _enough({}),
    "is enough by indexes": _enough({"succeededIndexes": "0,2-3", "succeededCount": 2}),
    "is enough by indexes in disorder": _enough({"succeededIndexes": "3,1"}),
    "is enough by too high an index": _enough({"succeededIndexes": "0-9"}),
    "is enough by words": _enough({"succeededIndexes": "all"}),
    "is enough by too many": _enough({"succeededIndexes": "0", "succeededCount": 2}, {"succeededCount": 9}),
}


def _job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}
    return api("Job", "batch/v1", "ruled", spec={"template": template, **spec})


_LABELS = {"app": "ruled"}
_WORKLOAD: dict[str, Any] = {
    "selector": {"matchLabels": _LABELS},
    "template": {"metadata": {"labels": _LABELS}, "spec": {"containers": [_CONTAINER]}},
}


def _claimed(**spec: Any) -> dict[str, Any]:
    return {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}]}


_SIZE = {"requests": {"storage": "1Gi"}}
_SET_SPECS: dict[str, dict[str, Any]] = {
    "of an odd service": {"serviceName": "Odd_Name"},
    "of no service": {},
    "keeps claims oddly": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Perhaps", "whenScaled": "Never"}},
    "of claims without a size": _claimed(accessModes=["ReadWriteOnce"]),
    "of claims without a mode": _claimed(resources=_SIZE),
    "of claims of an odd mode": _claimed(accessModes=["Sometimes"], resources=_SIZE, volumeMode="Odd"),
    "of claims": _claimed(accessModes=["ReadWriteOnce"], resources=_SIZE),
    "forgets revisions": {"revisionHistoryLimit": -1},
}


def _scaler(version: str, kind: str = "Deployment") -> dict[str, Any]:
    target = {"kind": kind, "name": "web", "apiVersion": version}
    return api("HorizontalPodAutoscaler", "autoscaling/v2", "ruled", spec={"maxReplicas": 3, "scaleTargetRef": target})


def _pod(**spec: Any) -> dict[str, Any]:
    return api("Pod", "v1", "ruled", spec={"containers": [_CONTAINER], **spec})


def _claim(**sources: Any) -> dict[str, Any]:
    return api(
        "PersistentVolumeClaim", "v1", "sourced", spec={"accessModes": ["ReadWriteOnce"], "resources": _SIZE, **sources}
    )


_ITEMS = {"items": [{"key": "any key / at all", "path": "p"}]}
_SOURCE = {"kind": "PersistentVolumeClaim", "name": "other"}
_VOLUME = {"name": "v", "configMap": {"name": "c", **_ITEMS}}
_EVENTS = "/apis/events.k8s.io/v1/namespaces/diff/events"
_OLD_EVENT = {
    **api("Event", "v1", "aged"),
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "diff"},
    "reason": "Aged",
    "message": "m",
    "count": 5,
    "type": "Normal",
    "source": {"component": "c"},
    "firstTimestamp": "2024-01-01T00:00:00Z",
    "lastTimestamp": "2024-01-01T00:00:00Z",
}
_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def _policy(*variables: str) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
        "variables": [{"name": name, "expression": "1"} for name in variables],
    }
    return api("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", "named", spec=spec)


_TERM = {"topologyKey": "zone"}
_UNSELECTED = {
    "topologySpreadConstraints": [{**_TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    "affinity": {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": _TERM}]
        },
    },
}
REFUSAL_STEPS = [
    *(Step(f"job that {name}", "POST", _JOBS, _job(**spec)) for name, spec in _JOB_SPECS.items()),
    *(
        Step(f"set {name}", "POST", _SETS, api("StatefulSet", "apps/v1", "ruled", spec={**_WORKLOAD, **spec}))
        for name, spec in _SET_SPECS.items()
    ),
    Step(
        "daemon that surges and is unavailable",
        "POST",
        _DAEMONS,
        api(
            "DaemonSet",
            "apps/v1",
            "ruled",
            spec={**_WORKLOAD, "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        ),
    ),
    Step("autoscaler of no version", "POST", _SCALERS, _scaler("")),
    Step("autoscaler of the core", "POST", _SCALERS, _scaler("v1")),
    Step("autoscaler of controllers", "POST", _SCALERS, _scaler("v1", "ReplicationController")),
    Step("autoscaler of an odd version", "POST", _SCALERS, _scaler("a/b/c")),
    Step("pod of any key", "POST", f"{NS}/pods?dryRun=All", _pod(volumes=[_VOLUME])),
    Step("pod of no system", "POST", f"{NS}/pods?dryRun=All", _pod(os={})),
    Step(
        "pod from an odd map",
        "POST",
        f"{NS}/pods?dryRun=All",
        _pod(containers=[{**_CONTAINER, "envFrom": [{"configMapRef": {"name": "Odd_Name"}}]}]),
    ),
    Step(
        "pod of ports that meet",
        "POST",
        f"{NS}/pods?dryRun=All",
        _pod(
            containers=[
                {**_CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]},
                {
                    "name": "side",
                    "image": "b",
                    "ports": [
                        {"containerPort": 80},
                        {"containerPort": 81},
                        {"containerPort": 80, "protocol": "UDP"},
                        {"containerPort": 81, "hostPort": 82, "hostIP": "1.2.3.4"},
                    ],
                },
            ],
        ),
    ),
    Step("pod that selects nothing", "POST", f"{NS}/pods?dryRun=All", _pod(**_UNSELECTED)),
    Step("claim of a source", "POST", _CLAIMS, _claim(dataSource=_SOURCE)),
    Step("claim of a newer source", "POST", _CLAIMS, _claim(dataSourceRef=_SOURCE)),
    Step("namespace ends by its phase", "PATCH", f"{NS}/status", {"status": {"phase": "Terminating"}}, MERGE),
    Step("namespace of an odd phase", "PATCH", f"{NS}/status", {"status": {"phase": "Odd"}}, MERGE),
    Step("namespace deleted dry", "DELETE", f"{NS}?dryRun=All"),
    Step("event of the old group", "POST", f"{NS}/events", _OLD_EVENT),
    Step("event labelled as new", "PATCH", f"{_EVENTS}/aged", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    *(
        Step(f"event of another {name}", "PATCH", f"{_EVENTS}/aged", {name: value}, MERGE)
        for name, value in {"note": "other", "reason": "Other", "action": "Other", "deprecatedCount": 7}.items()
    ),
    Step("event of a note as old", "PATCH", f"{NS}/events/aged", {"message": "other"}, MERGE),
    Step("pods of an address", "GET", f"{NS}/pods?fieldSelector=status.podIPs=10.9.9.9"),
    Step("sets of replicas", "GET", "/apis/apps/v1/namespaces/diff/replicasets?fieldSelector=status.replicas=0"),
    Step("policy of one name twice", "POST", f"{_POLICIES}?dryRun=All", _policy("a", "a")),
    Step("policy of an odd name", "POST", f"{_POLICIES}?dryRun=All", _policy("a b")),
    Step("empty dry run", "POST", f"{CM}?dryRun=", cm("dry")),
    Step("odd dry run", "POST", f"{CM}?dryRun=All&dryRun=Odd", cm("dry")),
    Step("twice dry", "POST", f"{CM}?dryRun=All&dryRun=All", cm("dry")),
    Step("apply of no kind", "PATCH", f"{CM}/dry?fieldManager=a", {"apiVersion": "v1"}, APPLY),
    Step("apply of no version", "PATCH", f"{CM}/dry?fieldManager=a", {"kind": "ConfigMap"}, APPLY),
    Step(
        "apply that creates at a version",
        "PATCH",
        f"{CM}/versioned?fieldManager=a",
        cm("versioned", resourceVersion="1", labels={}),
        APPLY,
    ),
    Step("apply of no labels", "PATCH", f"{CM}/versioned?fieldManager=b", cm("versioned", annotations=None), APPLY),
    Step("apply of no labels read", "GET", f"{CM}/versioned"),
]
CLAIMED = ("apply that creates at a version", "apply of no labels", "apply of no labels read")
"""Steps whose managers are compared too."""
