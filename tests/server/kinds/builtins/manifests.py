"""Objects as people write them, before anything has been filled in."""

from __future__ import annotations

import copy
from typing import Any

from homeostat.objects.errors import Cause
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.defaults import apply_defaults, apply_initial

CREATED = "2026-01-02T03:04:05Z"


def meta(**members: Json) -> JsonObject:
    return {"name": "web", "namespace": "default", "creationTimestamp": CREATED, **members}


def container(**members: Json) -> JsonObject:
    return {"name": "app", "image": "nginx:1.25", **members}


def pod_spec(**members: Json) -> JsonObject:
    return {"containers": [container()], **members}


def template(**spec: Json) -> JsonObject:
    return {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(**spec)}


SELECTOR = {"matchLabels": {"app": "web"}}
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
WEBHOOK = {
    "name": "check.example.com",
    "clientConfig": {"service": {"name": "hooks", "namespace": "default"}},
    "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_RULE = {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
RBAC, ADMISSION, NETWORKING, STORAGE = (
    "rbac.authorization.k8s.io",
    "admissionregistration.k8s.io",
    "networking.k8s.io",
    "storage.k8s.io",
)
ROLE_REF = {"kind": "ClusterRole", "name": "view"}
_BACKEND = {"service": {"name": "web", "port": {"number": 80}}}

_FLOW, _DEVICES = "flowcontrol.apiserver.k8s.io", "resource.k8s.io"
_SELECTS = {"cel": {"expression": 'device.attributes["example.com"].model == "x"'}}

# One good object of each kind that has rules.
GOOD: dict[tuple[str, str], JsonObject] = {
    ("", "Namespace"): {},
    ("", "ConfigMap"): {"data": {"a": "b"}},
    ("", "Secret"): {"stringData": {"a": "b"}},
    ("", "ServiceAccount"): {},
    ("", "Service"): {"spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}},
    ("", "Endpoints"): {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
    ("", "Pod"): {"spec": pod_spec()},
    ("", "PodTemplate"): {"template": template()},
    ("", "ReplicationController"): {"spec": {"template": template()}},
    ("", "PersistentVolume"): {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}
    },
    ("", "PersistentVolumeClaim"): {"spec": CLAIM_SPEC},
    ("", "Node"): {"status": {"capacity": {"cpu": "4"}}},
    ("", "ResourceQuota"): {"spec": {"hard": {"pods": "10", "limits.cpu": "2"}}},
    ("", "LimitRange"): {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}},
    ("", "Event"): {"involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"}},
    ("events.k8s.io", "Event"): {
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Doing",
        "reason": "Done",
        "type": "Normal",
    },
    ("apps", "Deployment"): {"spec": {"selector": SELECTOR, "template": template()}},
    ("apps", "ReplicaSet"): {"spec": {"selector": SELECTOR, "template": template()}},
    ("apps", "DaemonSet"): {"spec": {"selector": SELECTOR, "template": template()}},
    ("apps", "StatefulSet"): {
        "spec": {
            "selector": SELECTOR,
            "serviceName": "web",
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container(volumeMounts=[{"name": "data", "mountPath": "/data"}])]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM_SPEC}],
        }
    },
    ("apps", "ControllerRevision"): {"data": {}, "revision": 1},
    ("batch", "Job"): {"spec": {"template": template(restartPolicy="Never")}},
    ("batch", "CronJob"): {
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": template(restartPolicy="OnFailure")}},
        }
    },
    (NETWORKING, "Ingress"): {
        "spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": _BACKEND}]}}]}
    },
    (NETWORKING, "IngressClass"): {"spec": {"controller": "example.com/nginx"}},
    (NETWORKING, "NetworkPolicy"): {
        "spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}
    },
    ("policy", "PodDisruptionBudget"): {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
    ("autoscaling", "HorizontalPodAutoscaler"): {
        "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    },
    (STORAGE, "StorageClass"): {"provisioner": "example.com/disk"},
    ("coordination.k8s.io", "Lease"): {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    ("discovery.k8s.io", "EndpointSlice"): {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"port": 80}],
    },
    ("scheduling.k8s.io", "PriorityClass"): {"value": 1000},
    (RBAC, "Role"): {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    (RBAC, "ClusterRole"): {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]},
    (RBAC, "RoleBinding"): {"roleRef": ROLE_REF, "subjects": [{"kind": "User", "name": "ada"}]},
    (RBAC, "ClusterRoleBinding"): {
        "roleRef": ROLE_REF,
        "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}],
    },
    (ADMISSION, "MutatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    (ADMISSION, "ValidatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    (ADMISSION, "ValidatingAdmissionPolicy"): {
        "spec": {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}]}
    },
    (ADMISSION, "ValidatingAdmissionPolicyBinding"): {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    ("node.k8s.io", "RuntimeClass"): {"handler": "fast", "overhead": {"podFixed": {"cpu": "1"}}},
    (STORAGE, "CSIDriver"): {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 600}]}},
    (STORAGE, "CSINode"): {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["zone"]}]}},
    (STORAGE, "CSIStorageCapacity"): {"storageClassName": "fast", "capacity": "1Gi", "nodeTopology": SELECTOR},
    (STORAGE, "VolumeAttachment"): {
        "spec": {"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
        "status": {"attached": True, "attachmentMetadata": {"a": "b"}},
    },
    (STORAGE, "VolumeAttributesClass"): {"driverName": "d.example.com", "parameters": {"a": "b"}},
    (NETWORKING, "IPAddress"): {"spec": {"parentRef": {"resource": "services", "namespace": "a", "name": "b"}}},
    (NETWORKING, "ServiceCIDR"): {"spec": {"cidrs": ["10.0.0.0/24", "fd00::/112"]}},
    (_FLOW, "FlowSchema"): {
        "spec": {
            "priorityLevelConfiguration": {"name": "a"},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "a"}}],
                    "resourceRules": [
                        {"verbs": ["get"], "apiGroups": ["*"], "resources": ["pods"], "namespaces": ["a"]}
                    ],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/a/*", "/"]}],
                }
            ],
        },
        "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
    },
    (_FLOW, "PriorityLevelConfiguration"): {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 8}}}}
    },
    (_DEVICES, "ResourceClaim"): {
        "spec": {
            "devices": {
                "requests": [
                    {"name": "one", "exactly": {"deviceClassName": "a", "selectors": [_SELECTS]}},
                    {"name": "two", "firstAvailable": [{"name": "x", "deviceClassName": "a"}]},
                ],
                "constraints": [{"requests": ["one", "two/x"], "matchAttribute": "example.com/model"}],
                "config": [{"requests": ["one"], "opaque": {"driver": "d.example.com", "parameters": {"a": 1}}}],
            }
        },
        "status": {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "a", "uid": "b"}]},
    },
    (_DEVICES, "ResourceClaimTemplate"): {
        "spec": {"spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "a"}}]}}}
    },
    (_DEVICES, "DeviceClass"): {"spec": {"selectors": [_SELECTS]}},
    (_DEVICES, "ResourceSlice"): {
        "spec": {
            "driver": "d.example.com",
            "pool": {"name": "a/b", "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": [
                {
                    "name": "d",
                    "attributes": {"model": {"version": "1.2.3"}, "example.com/fast": {"bool": True}},
                    "capacity": {"memory": {"value": "1Gi"}},
                }
            ],
        }
    },
}


def defaulted(group: str, kind: str, body: JsonObject, **metadata: Json) -> JsonObject:
    """The object as the server would have it: a copy of `body` with metadata, defaults and what creation adds."""
    obj = {"metadata": meta(**metadata), **copy.deepcopy(body)}
    apply_defaults(group, kind, obj)
    apply_initial(group, kind, obj)
    return obj


ABSENT = object()


def put(body: JsonObject, path: str, value: Any) -> JsonObject:
    """A copy of the object with the member at `path` replaced, or taken away where the value is `ABSENT`."""
    body = copy.deepcopy(body)
    holder: Any = body
    *way, last = path.split(".")
    for name in way:
        holder = holder[int(name)] if isinstance(holder, list) else holder.setdefault(name, {})
    if value is ABSENT:
        del holder[last]
    else:
        holder[last] = value
    return body


def told(causes: list[Cause]) -> list[str]:
    return [f"{each.field}: {each.message}" for each in causes]
