"""The life of an object of every built-in kind, as Kubernetes' conformance tests live it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.differential.step import (
    APPLY,
    JSON,
    MERGE,
    PARTIAL_LIST,
    PARTIAL_LIST_PROTOBUF,
    PROTOBUF,
    STRATEGIC,
    TABLE,
    Step,
)

NAMESPACE = "lives"
_MARK = {"life": "one"}
_POD: dict[str, Any] = {"containers": [{"name": "c", "image": "example.com/app:1"}]}
_TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "a"}}, "spec": _POD}
_SELECTOR = {"matchLabels": {"app": "a"}}
_ONCE = {**_POD, "restartPolicy": "Never"}
_CONDITION: dict[str, Any] = {"type": "Seen", "status": "True", "reason": "Test", "message": "seen"}
_TIMED = {**_CONDITION, "lastTransitionTime": "2024-01-01T00:00:00Z"}
_HOOK: dict[str, Any] = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/hook"},
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_RULES = {"resourceRules": [_HOOK["rules"][0]]}
_DEVICES = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
_PATHS = {"pathType": "Prefix", "path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}


@dataclass(frozen=True)
class Life:
    """`change` is a merge patch of the object; `status` one of its status, if it has that subresource."""

    group_version: str
    kind: str
    plural: str
    fields: dict[str, Any]
    change: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] | None = None
    namespaced: bool = True
    name: str = "alive"

    @property
    def everywhere(self) -> str:
        root = "/api" if self.group_version == "v1" else "/apis"
        return f"{root}/{self.group_version}/{self.plural}"

    @property
    def collection(self) -> str:
        root, _, plural = self.everywhere.rpartition("/")
        return f"{root}/namespaces/{NAMESPACE}/{plural}" if self.namespaced else self.everywhere

    def object(self, suffix: str = "", **metadata: Any) -> dict[str, Any]:
        named = {"name": self.name + suffix, "labels": _MARK, **metadata}
        return {"apiVersion": self.group_version, "kind": self.kind, "metadata": named, **self.fields}


def _wide(*arguments: Any, name: str = "alive") -> Life:
    return replace(Life(*arguments), namespaced=False, name=name)


_CORE, _APPS, _NET, _STORE = "v1", "apps/v1", "networking.k8s.io/v1", "storage.k8s.io/v1"
_ADMISSION, _FLOW, _DEVICE = "admissionregistration.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1"
_RBAC = "rbac.authorization.k8s.io/v1"
_EVENT = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": NAMESPACE}, "reason": "R", "type": "Normal"}

LIVES = [
    Life(_CORE, "ConfigMap", "configmaps", {"data": {"a": "b"}}, {"data": {"c": "d"}}),
    Life(_CORE, "Secret", "secrets", {"data": {"a": "Yg=="}, "type": "Opaque"}, {"data": {"c": "ZA=="}}),
    Life(_CORE, "ServiceAccount", "serviceaccounts", {}, {"automountServiceAccountToken": False}),
    Life(_CORE, "Event", "events", _EVENT, {"message": "new"}),
    Life(
        _CORE,
        "Service",
        "services",
        {"spec": {"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}]}},
        {"spec": {"sessionAffinity": "ClientIP"}},
        {"conditions": [_TIMED]},
    ),
    Life(
        _CORE,
        "Endpoints",
        "endpoints",
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
        {"subsets": [{"addresses": [{"ip": "10.0.0.2"}], "ports": [{"port": 81}]}]},
    ),
    Life(
        _CORE,
        "Pod",
        "pods",
        {"spec": _POD},
        {"spec": {"activeDeadlineSeconds": 100}},
        {"phase": "Running", "conditions": [_CONDITION]},
    ),
    Life(_CORE, "PodTemplate", "podtemplates", {"template": _TEMPLATE}, {"template": {"metadata": {"name": "x"}}}),
    _wide(
        _CORE,
        "PersistentVolume",
        "persistentvolumes",
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}},
        {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
        {"phase": "Failed", "message": "m", "reason": "r"},
    ),
    Life(
        _CORE,
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        {"spec": {"volumeName": "v"}},
        {"phase": "Pending", "conditions": [_CONDITION]},
    ),
    _wide(
        _CORE,
        "Node",
        "nodes",
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}},
        {"spec": {"unschedulable": True}},
        {"conditions": [_CONDITION], "capacity": {"cpu": "4"}},
    ),
    Life(
        _CORE,
        "ReplicationController",
        "replicationcontrollers",
        {"spec": {"replicas": 1, "selector": {"app": "a"}, "template": _TEMPLATE}},
        {"spec": {"replicas": 2}},
        {"replicas": 1, "readyReplicas": 1, "conditions": [_CONDITION]},
    ),
    Life(
        _CORE,
        "ResourceQuota",
        "resourcequotas",
        {"spec": {"hard": {"count/widgets.none.example.com": "5"}}},
        {"spec": {"hard": {"count/widgets.none.example.com": "6"}}},
        {"hard": {"count/widgets.none.example.com": "6"}, "used": {"count/widgets.none.example.com": "0"}},
    ),
    Life(
        _CORE,
        "LimitRange",
        "limitranges",
        {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "50Gi"}}]}},
        {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "60Gi"}}]}},
    ),
    Life(
        _APPS,
        "Deployment",
        "deployments",
        {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
        {"spec": {"replicas": 3}},
        {"replicas": 1, "readyReplicas": 1, "conditions": [_CONDITION]},
    ),
    Life(
        _APPS,
        "ReplicaSet",
        "replicasets",
        {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
        {"spec": {"replicas": 3}},
        {"replicas": 1, "conditions": [_CONDITION]},
    ),
    Life(
        _APPS,
        "StatefulSet",
        "statefulsets",
        {"spec": {"selector": _SELECTOR, "template": _TEMPLATE, "serviceName": "s"}},
        {"spec": {"replicas": 3}},
        {"replicas": 1, "conditions": [_CONDITION]},
    ),
    Life(
        _APPS,
        "DaemonSet",
        "daemonsets",
        {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
        {"spec": {"minReadySeconds": 5}},
        {
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
            "conditions": [_CONDITION],
        },
    ),
    Life(_APPS, "ControllerRevision", "controllerrevisions", {"data": {"a": 1}, "revision": 1}, {"revision": 2}),
    Life(
        "batch/v1",
        "Job",
        "jobs",
        {"spec": {"template": {"spec": _ONCE}}},
        {"spec": {"suspend": True}},
        {"active": 1, "conditions": [_CONDITION]},
    ),
    Life(
        "batch/v1",
        "CronJob",
        "cronjobs",
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": _ONCE}}}}},
        {"spec": {"suspend": True}},
        {"lastScheduleTime": "2024-01-01T00:00:00Z"},
    ),
    Life(
        _NET,
        "Ingress",
        "ingresses",
        {"spec": {"rules": [{"host": "h.example.com", "http": {"paths": [_PATHS]}}]}},
        {"spec": {"ingressClassName": "c"}},
        {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
    ),
    _wide(
        _NET,
        "IngressClass",
        "ingressclasses",
        {"spec": {"controller": "example.com/c"}},
        {"spec": {"parameters": {"kind": "K", "name": "n", "apiGroup": "g.example.com"}}},
    ),
    Life(
        _NET,
        "NetworkPolicy",
        "networkpolicies",
        {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}},
        {"spec": {"policyTypes": ["Ingress", "Egress"]}},
    ),
    _wide(
        _NET,
        "IPAddress",
        "ipaddresses",
        {"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}},
        {},
        name="192.168.7.1",
    ),
    _wide(_NET, "ServiceCIDR", "servicecidrs", {"spec": {"cidrs": ["10.10.0.0/24"]}}, {}, {"conditions": [_TIMED]}),
    Life(
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "selector": _SELECTOR}},
        {"spec": {"minAvailable": 2}},
        {
            "observedGeneration": 1,
            "currentHealthy": 0,
            "desiredHealthy": 1,
            "disruptionsAllowed": 0,
            "expectedPods": 0,
            "conditions": [_TIMED],
        },
    ),
    Life(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}},
        {"spec": {"maxReplicas": 4}},
        {"currentReplicas": 1, "desiredReplicas": 2, "conditions": [_TIMED], "currentMetrics": None},
    ),
    _wide(_STORE, "StorageClass", "storageclasses", {"provisioner": "p.example.com"}, {"allowVolumeExpansion": True}),
    _wide(_STORE, "CSIDriver", "csidrivers", {"spec": {}}, {"spec": {"podInfoOnMount": True}}),
    _wide(
        _STORE,
        "CSINode",
        "csinodes",
        {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["z"]}]}},
        {"spec": {"drivers": []}},
    ),
    Life(
        _STORE,
        "CSIStorageCapacity",
        "csistoragecapacities",
        {"storageClassName": "s", "capacity": "1Gi"},
        {"capacity": "2Gi"},
    ),
    _wide(
        _STORE,
        "VolumeAttachment",
        "volumeattachments",
        {"spec": {"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}},
        {},
        {"attached": True},
    ),
    Life(
        "coordination.k8s.io/v1",
        "Lease",
        "leases",
        {"spec": {"holderIdentity": "h"}},
        {"spec": {"leaseTransitions": 1}},
    ),
    Life(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "endpointslices",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
        {"endpoints": [{"addresses": ["10.0.0.2"]}]},
    ),
    Life(
        "events.k8s.io/v1",
        "Event",
        "events",
        {
            "regarding": {"kind": "Pod", "name": "p", "namespace": NAMESPACE},
            "reason": "R",
            "type": "Normal",
            "action": "A",
            "eventTime": "2024-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
        },
        {"series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:01.000000Z"}},
        name="new",
    ),
    _wide("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", {"value": 5}, {"description": "d"}),
    _wide(
        "node.k8s.io/v1",
        "RuntimeClass",
        "runtimeclasses",
        {"handler": "h"},
        {"scheduling": {"nodeSelector": {"a": "b"}}},
    ),
    _wide(
        _DEVICE,
        "DeviceClass",
        "deviceclasses",
        {"spec": {}},
        {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    ),
    Life(_DEVICE, "ResourceClaim", "resourceclaims", {"spec": _DEVICES}, {}, {}),
    Life(_DEVICE, "ResourceClaimTemplate", "resourceclaimtemplates", {"spec": {"spec": _DEVICES}}, {}),
    _wide(
        _DEVICE,
        "ResourceSlice",
        "resourceslices",
        {
            "spec": {
                "driver": "gpu.example.com",
                "allNodes": True,
                "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
            }
        },
        {"spec": {"pool": {"generation": 2}}},
    ),
    _wide(
        _FLOW,
        "FlowSchema",
        "flowschemas",
        {
            "spec": {
                "priorityLevelConfiguration": {"name": "global-default"},
                "matchingPrecedence": 9000,
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [
                    {
                        "subjects": [{"kind": "User", "user": {"name": "nobody"}}],
                        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/none"]}],
                    }
                ],
            }
        },
        {"spec": {"matchingPrecedence": 9001}},
        {"conditions": [_TIMED]},
    ),
    _wide(
        _FLOW,
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 2, "limitResponse": {"type": "Reject"}}}},
        {"spec": {"limited": {"nominalConcurrencyShares": 4}}},
        {"conditions": [_TIMED]},
    ),
    Life(
        _RBAC,
        "Role",
        "roles",
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]},
    ),
    Life(
        _RBAC,
        "RoleBinding",
        "rolebindings",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}],
        },
        {"subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
    ),
    _wide(
        _RBAC,
        "ClusterRole",
        "clusterroles",
        {"rules": [{"nonResourceURLs": ["/none"], "verbs": ["get"]}]},
        {"rules": [{"nonResourceURLs": ["/none"], "verbs": ["get", "put"]}]},
    ),
    _wide(
        _RBAC,
        "ClusterRoleBinding",
        "clusterrolebindings",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "g"}],
        },
        {"subjects": None},
    ),
    _wide(
        _ADMISSION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        {"webhooks": [_HOOK]},
        {"webhooks": []},
    ),
    _wide(
        _ADMISSION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        {"webhooks": [_HOOK]},
        {"webhooks": []},
    ),
    _wide(
        _ADMISSION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        {"spec": {"matchConstraints": _RULES, "validations": [{"expression": "object.spec.replicas > 1"}]}},
        {"spec": {"failurePolicy": "Ignore"}},
        {"observedGeneration": 2, "conditions": [_TIMED]},
    ),
    _wide(
        _ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        {"spec": {"policyName": "p.example.com", "validationActions": ["Deny"]}},
        {"spec": {"validationActions": ["Deny", "Audit"]}},
    ),
]


_PROTECTED = {
    r"finalizers": "no finalizer of protection: nothing mounts volumes",
    r"^listed at last": "there it waits for that finalizer",
}
_OWN_UID = {r"controller-uid|\.cells\[7\]": "made of the uid", r"put without a revision.*\.causes": "told once"}
_GO = {r"currentMetrics|\.spec\.d(rivers|evices)|\.webhooks": "Go writes empty values"}
REASONS: dict[str, dict[str, str]] = {
    "PersistentVolume": _PROTECTED,
    "PersistentVolumeClaim": _PROTECTED,
    "Node": {r"\.status": "Go writes empty values"},
    "ResourceQuota": {r"\.status|\.cells": "counted with the write; a controller does it there"},
    "DaemonSet": {
        r"template\.generation|table.*annotations|^listed as metadata": "there it is shown with the whole object only"
    },
    "Job": _OWN_UID,
    "IPAddress": {r"\.cells$": "one cell more than columns there"},
    **dict.fromkeys(("HorizontalPodAutoscaler", "CSINode", "ResourceSlice"), _GO),
    **dict.fromkeys(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"), _GO),
    "ValidatingAdmissionPolicy": {r"\.status": "checked with the write; a controller does it there"},
    "FlowSchema": {r"conditions|\.cells\[5\]": "no controller has been at it"},
}
"""Where the plane differs on purpose, by kind: which step and path, and why."""


MANDATORY_STEPS = [
    Step(f"{kind} {name}", "GET", f"/apis/{_FLOW}/{kind}/{name}")
    for kind in ("flowschemas", "prioritylevelconfigurations")
    for name in ("exempt", "catch-all")
]


def life_steps(life: Life) -> Iterator[Step]:
    """Each step's id is what happens; the life's kind is not in it."""
    many, one = life.collection, f"{life.collection}/{life.name}"
    marked, second = "?labelSelector=life%3Done", {"life": "two"}
    yield Step("created", "POST", many, life.object())
    yield Step("created again", "POST", many, life.object())
    yield Step("created dry", "POST", f"{many}?dryRun=All", life.object(".dry" if life.name[0] == "a" else "1"))
    yield Step("read", "GET", one)
    yield Step("listed", "GET", many + marked)
    yield Step("listed everywhere", "GET", life.everywhere + marked)
    yield Step("listed by name", "GET", f"{life.everywhere}?fieldSelector=metadata.name%3D{life.name}")
    yield Step("listed as metadata", "GET", many + marked, accept=PARTIAL_LIST)
    yield Step("table", "GET", many + marked, accept=TABLE)
    yield Step("created again, in protobuf", "POST", many, life.object(), accept=PROTOBUF)
    yield Step("read in protobuf", "GET", one, accept=PROTOBUF)
    yield Step("listed in protobuf", "GET", many + marked, accept=PROTOBUF)
    yield Step("listed as metadata in protobuf", "GET", many + marked, accept=PARTIAL_LIST_PROTOBUF)
    yield Step("annotated", "PATCH", one, {"metadata": {"annotations": {"a": "b"}}}, STRATEGIC)
    yield Step("changed", "PATCH", one, life.change, MERGE)
    yield Step("put without a revision", "PUT", one, life.object(labels={**_MARK, "put": "yes"}))
    yield Step("put at a stale revision", "PUT", one, life.object(resourceVersion="1"))
    yield Step("put of another uid", "PUT", one, life.object(uid="0b5d0f5a-0000-4000-8000-000000000000"))
    yield Step("patched", "PATCH", one, [{"op": "add", "path": "/metadata/labels/j", "value": "p"}], JSON)
    yield Step("patch tested", "PATCH", one, [{"op": "test", "path": "/metadata/name", "value": "other"}], JSON)
    yield Step("strict", "PATCH", f"{one}?fieldValidation=Strict", {"nonsense": 1}, MERGE)
    yield Step("warned", "PATCH", f"{one}?fieldValidation=Warn", {"nonsense": 1}, MERGE)
    applied = {
        "apiVersion": life.group_version,
        "kind": life.kind,
        "metadata": {"name": life.name, "labels": {"s": "a"}},
    }
    yield Step("applied", "PATCH", f"{one}?fieldManager=life", applied, APPLY)
    yield Step("conflict", "PATCH", f"{one}?fieldManager=other", {**applied, "metadata": {"labels": {"s": "b"}}}, APPLY)
    if life.status is not None:
        yield Step("status read", "GET", f"{one}/status")
        yield Step("status patched", "PATCH", f"{one}/status", {"status": life.status}, MERGE)
        labelled = {"metadata": {"annotations": {"by": "status"}, "labels": {"st": "x"}}, "status": life.status}
        yield Step("status with metadata", "PATCH", f"{one}/status", labelled, STRATEGIC)
        yield Step("status put", "PUT", f"{one}/status", {**life.object(), "status": life.status})
        by = {"apiVersion": life.group_version, "kind": life.kind, "status": life.status}
        yield Step("status applied", "PATCH", f"{one}/status?fieldManager=s&force=true", by, APPLY)
    yield Step("read at last", "GET", one)
    yield Step("read at last in protobuf", "GET", one, accept=PROTOBUF)
    yield Step("table of one", "GET", one, accept=TABLE)
    other = "b" if life.name[0] == "a" else life.name[:-1] + "2"
    twin = {**life.object(), "metadata": {"name": other, "labels": second}}
    yield Step("second", "POST", many, twin)
    yield Step("page", "GET", f"{many}?limit=1&labelSelector=life")
    yield Step("listed by set", "GET", f"{life.everywhere}?labelSelector=life+in+(one,two),!none")
    precondition = {"preconditions": {"uid": "0b5d0f5a-0000-4000-8000-000000000000"}}
    yield Step("deleted on condition", "DELETE", one, precondition)
    yield Step("deleted dry", "DELETE", f"{one}?dryRun=All")
    yield Step("deleted", "DELETE", f"{one}?gracePeriodSeconds=0", {"propagationPolicy": "Background"})
    yield Step("read when deleted", "GET", one)
    yield Step("deleted again", "DELETE", one)
    yield Step("patched when deleted", "PATCH", one, {"metadata": {"labels": {"x": "y"}}}, MERGE)
    yield Step("collection deleted dry", "DELETE", f"{many}?labelSelector=life%3Dtwo&dryRun=All&gracePeriodSeconds=0")
    yield Step("collection deleted", "DELETE", f"{many}?labelSelector=life%3Dtwo&gracePeriodSeconds=0")
    yield Step("listed at last", "GET", f"{life.everywhere}?labelSelector=life")
    yield Step("bad selector", "GET", f"{many}?labelSelector=a%3D%3D%3Db")
    yield Step("bad field", "GET", f"{many}?fieldSelector=spec.none%3Db")
