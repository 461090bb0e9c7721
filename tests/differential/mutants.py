"""Valid objects, and what a real kube-apiserver says when one member of them is another one.

Each mutant is a path and the value there; `...` takes the member away. Requests are dry runs, so they do not build on
each other.
"""

from __future__ import annotations

import copy
from types import EllipsisType
from typing import Any, NamedTuple

from homeostat.objects.json import Json, JsonObject
from tests.api.objects import definition as crd
from tests.differential.step import CRDS, DEPLOY, NS, api

Value = Json | EllipsisType


class Family(NamedTuple):
    """An object and its mutants."""

    collection: str
    base: JsonObject
    mutants: list[tuple[str, Value]]


def mutated(base: JsonObject, path: str, value: Value) -> JsonObject:
    """A copy of the object with another value at a path of names and indexes; a tilde stands for a slash."""
    found = copy.deepcopy(base)
    holder: Any = found
    *parents, last = (int(each) if each.isdecimal() else each.replace("~", "/") for each in path.split("/"))
    for name in parents:
        holder = holder[name]
    if value is ...:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
    return found


_LONG = "x" * 300
_SELECTOR = {"matchLabels": {"app": "web"}}
_CONTAINER: JsonObject = {
    "name": "main",
    "image": "nginx:1",
    "ports": [{"name": "http", "containerPort": 80}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "cm"}}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    "volumeMounts": [{"name": "config", "mountPath": "/c"}, {"name": "empty", "mountPath": "/e"}],
    "volumeDevices": [{"name": "claim", "devicePath": "/dev/x"}],
    "livenessProbe": {"httpGet": {"port": 80}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}},
}
_TERM = {
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
_POD: JsonObject = {
    "automountServiceAccountToken": False,
    "containers": [_CONTAINER, {"name": "side", "image": "b"}],
    "initContainers": [{"name": "init", "image": "b"}],
    "volumes": [
        {"name": "config", "configMap": {"name": "cm", "items": [{"key": "a", "path": "b"}]}},
        {"name": "empty", "emptyDir": {}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "host", "hostPath": {"path": "/h"}},
        {"name": "down", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "cm"}}, {"secret": {"name": "s"}}]}},
    ],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["1.2.3.4"], "searches": ["a.b", "."]},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}],
    "os": {"name": "linux"},
    "resourceClaims": [{"name": "rc", "resourceClaimName": "r"}],
    "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": _TERM}],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": _SELECTOR, "topologyKey": "zone", "matchLabelKeys": ["x"]}
            ]
        },
    },
}
_MAIN = "spec/containers/0"
_NODES = "spec/affinity/nodeAffinity"
_FIELDS = f"{_NODES}/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0"
_WISHES = f"{_NODES}/preferredDuringSchedulingIgnoredDuringExecution/0/preference"
_NEAR = "spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"
_FIELD = f"{_MAIN}/env/1/valueFrom/fieldRef"
_AMOUNT = f"{_MAIN}/env/2/valueFrom/resourceFieldRef"

_PODS: list[tuple[str, Value]] = [
    ("metadata/name", "m"),
    ("apiVersion", ""),
    ("kind", ""),
    (f"{_FIELDS}/values", ["Bad_Name"]),
    (f"{_FIELDS}/values", ["a", "b"]),
    (f"{_FIELDS}/operator", "Exists"),
    (f"{_FIELDS}/key", "spec.name"),
    (f"{_WISHES}/matchExpressions/0/values", ["no label!"]),
    (f"{_NEAR}/mismatchLabelKeys", ["x"]),
    (f"{_MAIN}/lifecycle/preStop/sleep/seconds", 31),
    (f"{_MAIN}/lifecycle/preStop/sleep/seconds", -1),
    (f"{_MAIN}/volumeDevices/0/name", "config"),
    (f"{_MAIN}/volumeDevices/0/name", "none"),
    (f"{_MAIN}/volumeDevices/0/devicePath", "/dev/../x"),
    (f"{_MAIN}/volumeDevices/0/devicePath", "/c"),
    (f"{_MAIN}/volumeDevices/0/devicePath", ""),
    (f"{_MAIN}/volumeDevices/1", {"name": "claim", "devicePath": "/dev/x"}),
    (f"{_MAIN}/volumeMounts/1/name", "claim"),
    (f"{_MAIN}/volumeMounts/1/mountPath", "/c"),
    (f"{_MAIN}/volumeMounts/1/subPath", "../x"),
    (f"{_MAIN}/volumeMounts/1/subPathExpr", "/x"),
    (f"{_MAIN}/volumeMounts/1/mountPropagation", "Bidirectional"),
    (f"{_MAIN}/volumeMounts/1/recursiveReadOnly", "Enabled"),
    (f"{_FIELD}/apiVersion", "v2"),
    (f"{_FIELD}/fieldPath", "status.phase"),
    (f"{_FIELD}/fieldPath", "metadata.labels['a b']"),
    (f"{_FIELD}/fieldPath", "spec.nodeName['a']"),
    (f"{_FIELD}/fieldPath", "metadata.labels"),
    (f"{_AMOUNT}/divisor", "1Gi"),
    (f"{_AMOUNT}/resource", "limits.gpu"),
    (f"{_AMOUNT}/resource", "limits.hugepages-2Mi"),
    (f"{_MAIN}/env/3/valueFrom/configMapKeyRef/key", "a/b"),
    (f"{_MAIN}/env/1", {"name": "A", "value": "$(A)b"}),
    (f"{_MAIN}/env/1", {"name": "A", "value": "c"}),
    (f"{_MAIN}/envFrom/0/configMapRef/name", "start-"),
    (f"{_MAIN}/livenessProbe/sleep", {"seconds": 1}),
    (f"{_MAIN}/livenessProbe/tcpSocket", {"port": 1}),
    (f"{_MAIN}/resources/limits/hugepages-2Mi", "3"),
    (f"{_MAIN}/resources/requests", {"example.com/gpu": "1"}),
    (f"{_MAIN}/resources/requests", {"bogus": "1"}),
    (f"{_MAIN}/resources/claims", [{"name": "rc"}, {"name": "rc", "request": "a"}]),
    (f"{_MAIN}/resources/claims", [{"name": "other"}]),
    (f"{_MAIN}/securityContext/seccompProfile/localhostProfile", "../a.json"),
    (f"{_MAIN}/securityContext/seccompProfile/localhostProfile", ...),
    (f"{_MAIN}/securityContext/procMount", "Unmasked"),
    (f"{_MAIN}/securityContext/windowsOptions", {}),
    (f"{_MAIN}/ports/1", {"name": "http", "containerPort": 81}),
    ("spec/initContainers/0/livenessProbe", {"exec": {"command": ["a"]}}),
    ("spec/dnsConfig/searches", [""]),
    ("spec/dnsConfig/searches", ["_a.b_c", "-a"]),
    ("spec/dnsConfig/searches", [f"{'a' * 60}.b"] * 40),
    ("spec/dnsConfig/nameservers", []),
    ("spec/dnsConfig/options", [{"value": "1"}]),
    ("spec/hostAliases/1", {"ip": "10.0.0.1", "hostnames": ["c.d"]}),
    ("spec/hostUsers", False),
    ("spec/hostNetwork", True),
    ("spec/os/name", "windows"),
    ("spec/os", {}),
    ("spec/overhead", {"cpu": "1"}),
    ("spec/resources", {"limits": {"cpu": "500m"}, "requests": {"memory": "1Mi"}}),
    ("spec/resources", {"limits": {"ephemeral-storage": "1"}}),
    ("spec/resourceClaims/0/resourceClaimTemplateName", "t"),
    ("spec/resourceClaims/0/resourceClaimName", ...),
    ("spec/resourceClaims/1", {"name": "rc", "resourceClaimName": "r"}),
    ("spec/securityContext/seLinuxChangePolicy", "Bogus"),
    ("spec/securityContext/appArmorProfile", {"type": "Localhost", "localhostProfile": " a"}),
    ("spec/preemptionPolicy", ""),
    ("spec/volumes/0/configMap/items/0/path", "..a"),
    ("spec/volumes/0/configMap/items/0/mode", 512),
    ("spec/volumes/0/configMap/name", ...),
    ("spec/volumes/0/secret", {"secretName": "s"}),
    ("spec/volumes/4/downwardAPI/items/0/fieldRef/fieldPath", "spec.nodeName"),
    ("spec/volumes/4/downwardAPI/items/0/resourceFieldRef", {"resource": "limits.cpu"}),
    ("spec/volumes/4/downwardAPI/items/0/fieldRef", ...),
    ("spec/volumes/5/projected/sources/0/secret", {"name": "s"}),
    (
        "spec/volumes/5/projected/sources",
        [{"configMap": {"name": each, "items": [{"key": "a", "path": "a"}]}} for each in ("a", "b")],
    ),
    *(
        ("spec/volumes/3", {"name": "host", name: source})
        for name, source in (
            ("nfs", {"server": "s", "path": "p"}),
            ("iscsi", {"targetPortal": "1.2.3.4", "iqn": "bogus", "lun": 256}),
            ("fc", {"targetWWNs": ["a"]}),
            ("quobyte", {"registry": "a", "volume": "v"}),
            ("flexVolume", {"driver": "d", "options": {"a.k8s.io/b": "c"}}),
            ("azureDisk", {"diskName": "d", "diskURI": "u"}),
            ("storageos", {"volumeName": "A"}),
            ("csi", {"driver": "Bad_Driver", "nodePublishSecretRef": {}}),
            ("gitRepo", {"repository": "r", "directory": "../x"}),
            ("gcePersistentDisk", {"partition": 256}),
            ("cinder", {"volumeID": "v", "secretRef": {}}),
            ("flocker", {}),
            ("ephemeral", {"volumeClaimTemplate": {"metadata": {"name": "n"}, "spec": {}}}),
        )
    ),
]

_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}}
_WORKLOAD: JsonObject = {"selector": _SELECTOR, "template": _TEMPLATE}
_CLAIM: JsonObject = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_STATEFUL = {**_WORKLOAD, "serviceName": "s", "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": _CLAIM}]}
_INDEXED: JsonObject = {
    "completions": 3,
    "completionMode": "Indexed",
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "nginx:1"}]}},
}
_BY_HAND: JsonObject = {
    "manualSelector": True,
    "template": {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}},  # type: ignore[dict-item]
}
_VOLUME: JsonObject = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "local": {"path": "/a"}}
_REACH = {"required": {"nodeSelectorTerms": [_TERM]}}
_APPS = "/apis/apps/v1/namespaces/diff"

_NETWORK = "/apis/networking.k8s.io/v1/namespaces/diff"
_PATH = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}
_PARAMETERS = {"kind": "K", "name": "n", "scope": "Namespace", "namespace": "a"}
_TOPOLOGY = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}
_USE = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
_EXTERNAL = {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}}
_AUTOSCALED: JsonObject = {
    "maxReplicas": 3,
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "metrics": [{"type": "Resource", "resource": _USE}],
    "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 5}]}},
}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
_POLICY: JsonObject = {
    "matchConstraints": {"resourceRules": [_RULE]},
    "validations": [{"expression": "true"}],
    "auditAnnotations": [{"key": "k", "valueExpression": "'x'"}],
}
_REFERENCE = {"name": "p", "parameterNotFoundAction": "Deny"}
_BINDING: JsonObject = {"policyName": "m", "paramRef": _REFERENCE, "validationActions": ["Deny"]}
_HOOK = {
    "name": "a.example.com",
    "rules": [_RULE],
    "clientConfig": {"url": "https://localhost:1/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}

_SCHEMA = "spec/versions/0/schema/openAPIV3Schema/properties/spec"


def _definition() -> JsonObject:
    definition = crd()
    definition["metadata"]["name"] = "mutants.example.com"
    definition["spec"]["names"] = {
        "plural": "mutants",
        "singular": "mutant",
        "kind": "Mutant",
        "listKind": "MutantList",
    }
    members = {"a": {"type": "string", "maxLength": 9}, "n": {"type": "integer"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": members}}}
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return definition


_LIMIT = {
    "type": "Container",
    "max": {"cpu": "2"},
    "min": {"cpu": "1"},
    "default": {"cpu": "2"},
    "defaultRequest": {"cpu": "1"},
    "maxLimitRequestRatio": {"cpu": "2"},
}

_NEWS: JsonObject = {
    "eventTime": "2024-01-01T00:00:00.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "action": "A",
    "reason": "R",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "diff", "name": "p"},
}
_ATTACHED = {"attacher": "d.example.com", "nodeName": "n"}
_INLINE = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d.example.com", "volumeHandle": "h"}}
_INLINED = "spec/source/inlineVolumeSpec"
_TAINTED = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}
_TOLERATION = "spec/devices/requests/0/exactly/tolerations/0"
_DEVICES: JsonObject = {
    "devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu", "tolerations": [_TAINTED]}}]}
}
_SLICE: JsonObject = {
    "driver": "gpu.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]},
    "devices": [{"name": "d"}],
}
FAMILIES = {
    "Pod": Family(f"{NS}/pods", api("Pod", "v1", "m", spec=_POD), _PODS),
    "Deployment": Family(
        DEPLOY,
        api("Deployment", "apps/v1", "m", spec=_WORKLOAD),
        [
            ("spec/selector/matchLabels/a b", "c"),
            ("spec/selector", ...),
            ("spec/strategy", {"type": "Bogus"}),
            ("spec/template/spec/os", {}),
            ("spec/template/spec/runtimeClassName", ""),
            ("spec/template/spec/terminationGracePeriodSeconds", -1),
            ("spec/template/spec/containers/0/image", " nginx"),
        ],
    ),
    "DaemonSet": Family(
        f"{_APPS}/daemonsets",
        api("DaemonSet", "apps/v1", "m", spec=_WORKLOAD),
        [
            ("spec/selector", ...),
            ("spec/selector/matchLabels/a b", "c"),
            ("spec/updateStrategy", {"type": "Bogus"}),
            ("spec/updateStrategy", {"rollingUpdate": {"maxUnavailable": 0}}),
            ("spec/updateStrategy", {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": -1}}),
            ("spec/updateStrategy", {"type": "OnDelete", "rollingUpdate": {"maxSurge": "x"}}),
        ],
    ),
    "StatefulSet": Family(
        f"{_APPS}/statefulsets",
        api("StatefulSet", "apps/v1", "m", spec=_STATEFUL),
        [
            ("spec/volumeClaimTemplates/0/metadata/name", "a_b"),
            ("spec/volumeClaimTemplates/0/metadata", {}),
            ("spec/template/spec/hostname", "a.b"),
            ("spec/ordinals", {}),
            ("spec/updateStrategy", {"type": "RollingUpdate"}),
        ],
    ),
    "Job": Family(
        "/apis/batch/v1/namespaces/diff/jobs",
        api("Job", "batch/v1", "m", spec=_INDEXED),
        [
            ("metadata/name", "a.b"),
            ("spec/managedBy", "../a"),
            ("spec/managedBy", _LONG),
            ("spec/completionMode", "Bogus"),
            ("spec/podFailurePolicy", {"rules": [{"action": "Count", "onPodConditions": [{"type": "A"}]}]}),
            ("spec/podFailurePolicy", {"rules": [{"action": "Count", "onPodConditions": [{"type": "A"}] * 21}]}),
            ("spec", {**_BY_HAND, "selector": {"matchLabels": {"app": "web"}}}),
        ],
    ),
    "PersistentVolume": Family(
        "/api/v1/persistentvolumes",
        api("PersistentVolume", "v1", "m", spec={**_VOLUME, "nodeAffinity": _REACH}),
        [
            ("spec/nodeAffinity", ...),
            ("spec/nodeAffinity/required/nodeSelectorTerms", []),
            ("spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/operator", "Bogus"),
            ("spec/capacity/cpu", "1"),
            ("spec/capacity/storage", "0"),
            ("spec/capacity", {}),
            ("spec/local/path", "../a"),
            ("spec/volumeMode", ""),
            ("spec/volumeAttributesClassName", "gold"),
            ("spec/hostPath", {"path": "/b"}),
            ("spec/csi", {"driver": "d"}),
            ("spec/local", ...),
        ],
    ),
    "PersistentVolumeClaim": Family(
        f"{NS}/persistentvolumeclaims",
        api("PersistentVolumeClaim", "v1", "m", spec=_CLAIM),
        [
            ("spec/dataSource", {"kind": "Pod", "name": "a"}),
            ("spec/dataSource", {"kind": "PersistentVolumeClaim"}),
            ("spec/dataSourceRef", {"apiGroup": "a b", "kind": "K", "name": "n"}),
            ("spec/dataSourceRef", {"kind": "K", "name": "n"}),
            ("spec/resources/requests/storage", "0"),
            ("spec/volumeAttributesClassName", "A"),
        ],
    ),
    "Service": Family(
        f"{NS}/services",
        api("Service", "v1", "m", spec={"clusterIP": "None", "ports": [{"port": 80, "targetPort": 8080}]}),
        [
            ("spec/ipFamilyPolicy", ""),
            ("spec/ports/0", {}),
            ("spec/ports/0/appProtocol", "a b"),
            ("spec/trafficDistribution", "Bogus"),
            ("spec/loadBalancerClass", "a/b"),
            ("spec/loadBalancerSourceRanges", ["10.0.0.0"]),
            ("spec/externalTrafficPolicy", "Bogus"),
            ("spec/internalTrafficPolicy", ""),
            ("spec/externalIPs", ["127.0.0.1", "0.0.0.0", "169.254.0.1"]),
            ("spec", {"type": "ExternalName", "externalName": "a.b", "ipFamilies": ["IPv4"], "clusterIPs": ["None"]}),
            ("spec", {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.2.3.4"]}),
        ],
    ),
    "Ingress": Family(
        f"{_NETWORK}/ingresses",
        api("Ingress", "networking.k8s.io/v1", "m", spec={"rules": [{"host": "a.b", "http": {"paths": [_PATH]}}]}),
        [
            ("spec/ingressClassName", ""),
            ("spec/defaultBackend", {}),
            ("spec/rules/0/http/paths/0/backend", {"resource": {"apiGroup": "a b", "kind": "a/b", "name": "c%"}}),
            ("spec/rules/0/http/paths/0/pathType", ""),
            ("spec/rules/0/http/paths/0/pathType", ...),
            ("spec/tls", [{"hosts": ["", "10.0.0.1"]}]),
        ],
    ),
    "IngressClass": Family(
        "/apis/networking.k8s.io/v1/ingressclasses",
        api("IngressClass", "networking.k8s.io/v1", "m", spec={"controller": "a.b/c", "parameters": _PARAMETERS}),
        [
            ("spec/controller", "http://x"),
            ("spec/parameters/apiGroup", "a b"),
            ("spec/parameters/kind", "a/b"),
            ("spec/parameters/namespace", "A"),
        ],
    ),
    "NetworkPolicy": Family(
        f"{_NETWORK}/networkpolicies",
        api("NetworkPolicy", "networking.k8s.io/v1", "m", spec={"ingress": [{"ports": [{"port": 80}]}]}),
        [("spec/ingress/0/ports/0/protocol", "")],
    ),
    "PodDisruptionBudget": Family(
        "/apis/policy/v1/namespaces/diff/poddisruptionbudgets",
        api("PodDisruptionBudget", "policy/v1", "m", spec={"minAvailable": 1, "selector": _SELECTOR}),
        [("metadata/name", "A B"), ("metadata/name", "a/b")],
    ),
    "HorizontalPodAutoscaler": Family(
        "/apis/autoscaling/v2/namespaces/diff/horizontalpodautoscalers",
        api("HorizontalPodAutoscaler", "autoscaling/v2", "m", spec=_AUTOSCALED),
        [
            ("spec/behavior/scaleUp/policies/0", {}),
            ("spec/behavior/scaleUp/policies", []),
            ("spec/behavior/scaleUp/policies", None),
            ("spec/behavior/scaleUp/policies/0/periodSeconds", 1801),
            ("spec/behavior/scaleUp/selectPolicy", "Bogus"),
            ("spec/behavior/scaleUp/stabilizationWindowSeconds", 3601),
            ("spec/scaleTargetRef/apiVersion", "/v1"),
            ("spec/metrics/0/type", ...),
            ("spec/metrics/0/resource/name", ""),
            ("spec/metrics/0/resource/target", {"type": "Bogus"}),
            ("spec/metrics/0/resource/target/averageUtilization", 0),
            ("spec/metrics/0/resource/target/averageValue", "0"),
            ("spec/metrics/0/pods", {"metric": {"name": "a"}, "target": {}}),
            *(
                ("spec/metrics/0", {"type": kind, name: {"target": {"type": "Value"}, **source}})
                for kind, name, source in (
                    ("Pods", "pods", {"metric": {"name": "a/b"}}),
                    ("Object", "object", {"describedObject": {"apiVersion": "a/b/c"}, "metric": {}}),
                    ("ContainerResource", "containerResource", {"name": "bogus", "container": "A"}),
                )
            ),
            ("spec/metrics/0", {"type": "External", "external": _EXTERNAL}),
        ],
    ),
    "StorageClass": Family(
        "/apis/storage.k8s.io/v1/storageclasses",
        api("StorageClass", "storage.k8s.io/v1", "m", provisioner="a.b/c", allowedTopologies=[_TOPOLOGY]),
        [
            ("provisioner", "a b"),
            ("parameters", {"": "x"}),
            ("reclaimPolicy", "Recycle"),
            ("volumeBindingMode", ""),
            ("allowedTopologies/1", _TOPOLOGY),
            ("allowedTopologies/0", {}),
            ("allowedTopologies/0/matchLabelExpressions/1", {"key": "zone"}),
            ("allowedTopologies/0/matchLabelExpressions/0/values", ["a", "a"]),
        ],
    ),
    "ClusterRole": Family(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        api("ClusterRole", "rbac.authorization.k8s.io/v1", "m", aggregationRule={"clusterRoleSelectors": [_SELECTOR]}),
        [("aggregationRule/clusterRoleSelectors/0/matchLabels/a b", "c")],
    ),
    "ValidatingAdmissionPolicy": Family(
        f"{_ADMISSION}/validatingadmissionpolicies",
        api("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", "m", spec=_POLICY),
        [
            ("spec/auditAnnotations/0/key", "a b"),
            ("spec/auditAnnotations/0/valueExpression", "1"),
            ("spec/auditAnnotations/0/valueExpression", "null"),
            ("spec/auditAnnotations/0/valueExpression", "object.metadata.labels['a']"),
            ("spec/validations/0/expression", "object.data.x"),
            ("spec/validations/0/expression", "has(object.data) && object.data.x"),
            ("spec/validations/0/expression", "object.?metadata.labels['a'].orValue('b') == 'b'"),
            ("spec/validations/0/messageExpression", "object.metadata.name"),
            ("spec/validations/0/reason", "Unauthorized"),
            ("spec/matchConditions", [{"name": "a", "expression": "object.data.x"}]),
            ("spec/variables", [{"name": "a", "expression": "object.data.x"}]),
            ("spec/auditAnnotations/0/valueExpression", ...),
            ("spec/auditAnnotations/1", {"key": "k", "valueExpression": "'x'"}),
            ("spec/auditAnnotations/0", {}),
            ("spec/failurePolicy", ""),
            ("spec/matchConstraints/matchPolicy", ""),
            ("spec/matchConstraints/resourceRules/0/scope", ""),
            ("spec/matchConstraints/resourceRules/0/resourceNames", ["a/b", "a", "a"]),
            ("spec/paramKind", {"apiVersion": "A.b/1", "kind": "a b"}),
            ("spec/paramKind", {"apiVersion": "a/b/c"}),
        ],
    ),
    "ValidatingAdmissionPolicyBinding": Family(
        f"{_ADMISSION}/validatingadmissionpolicybindings",
        api("ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1", "m", spec=_BINDING),
        [("spec/paramRef/name", "a/b"), ("spec/matchResources", {"resourceRules": [{**_RULE, "scope": ""}]})],
    ),
    "ValidatingWebhookConfiguration": Family(
        f"{_ADMISSION}/validatingwebhookconfigurations",
        api("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "m", webhooks=[_HOOK]),
        [
            ("webhooks/0/rules/0/resources", ["a", "*"]),
            ("webhooks/0/rules/0/resources", ["*", "a"]),
            ("webhooks/0/failurePolicy", ""),
            ("webhooks/0/matchPolicy", ""),
            ("webhooks/0/rules/0/scope", ""),
        ],
    ),
    "CustomResourceDefinition": Family(
        CRDS,
        _definition(),
        [
            (f"{_SCHEMA}/maxProperties", -1),
            (f"{_SCHEMA}/properties/a/maxLength", -1),
            (f"{_SCHEMA}/properties/a/minLength", -1),
            (f"{_SCHEMA}/properties/n/multipleOf", -1),
            (f"{_SCHEMA}/properties/n/multipleOf", 0),
            (f"{_SCHEMA}/properties/a/format", "bogus"),
            (f"{_SCHEMA}/properties/n/format", "bogus"),
            (f"{_SCHEMA}/not", {"externalDocs": {"url": "x"}}),
            (f"{_SCHEMA}/x-kubernetes-validations", [{"rule": "true", "reason": ""}]),
            *(
                (f"{_SCHEMA}/properties/a/x-kubernetes-validations", [{"rule": f"{rule} == self"}])
                for rule in (
                    "'%s'.format([self])",
                    "'%z'.format([1])",
                    "'%d'.format(['a'])",
                    "'%s'.format([])",
                    "'%s'.format([1, 2])",
                    "format",
                )
            ),
        ],
    ),
    "ServiceAccount": Family(
        f"{NS}/serviceaccounts",
        api("ServiceAccount", "v1", "m", imagePullSecrets=[{"name": "s"}]),
        [("imagePullSecrets/0/name", "A B"), ("secrets", [{"name": "s", "kind": "Secret", "namespace": "n"}])],
    ),
    "LimitRange": Family(
        f"{NS}/limitranges",
        api("LimitRange", "v1", "m", spec={"limits": [_LIMIT]}),
        [
            ("spec/limits/0/type", "Bogus"),
            ("spec/limits/0/type", "Pod"),
            ("spec/limits/0/type", "PersistentVolumeClaim"),
            ("spec/limits/0/max/bogus", "1"),
            ("spec/limits/0/max/storage", "1"),
            ("spec/limits/0/max/cpu", "1500m"),
            ("spec/limits/0/min/cpu", "3"),
            ("spec/limits/0/maxLimitRequestRatio/cpu", "500m"),
            ("spec/limits/0/maxLimitRequestRatio/cpu", "9"),
        ],
    ),
    "ResourceQuota": Family(
        f"{NS}/resourcequotas",
        api("ResourceQuota", "v1", "m", spec={"hard": {"pods": "1"}, "scopes": ["NotTerminating"]}),
        [
            ("metadata", {}),
            ("spec/hard/bogus", "1"),
            *(
                (f"spec/hard/{name}", "1500m")
                for name in ("pods", "configmaps", "example.com~gpu", "requests.example.com~gpu", "count~x.example.com")
            ),
            ("spec/hard/storage", "1"),
            ("spec/hard/requests.storage", "1"),
            ("spec/hard/hugepages-2Mi", "1"),
        ],
    ),
    "EndpointSlice": Family(
        "/apis/discovery.k8s.io/v1/namespaces/diff/endpointslices",
        api("EndpointSlice", "discovery.k8s.io/v1", "m", addressType="IPv4", endpoints=[{"addresses": ["10.1.2.3"]}]),
        [
            ("endpoints/0/addresses", ["2001:db8::1"]),
            ("endpoints/0/hostname", "a.b"),
            ("endpoints/0/hostname", ""),
            ("endpoints/0/nodeName", "A"),
            ("endpoints/0/nodeName", ""),
            ("ports", [{"port": 80, "protocol": ""}]),
            ("endpoints/0/hints", {"forZones": [{"name": "a b"}, {"name": "z"}, {"name": "z"}]}),
            ("ports", [{"port": 80, "appProtocol": "a b"}]),
        ],
    ),
    "Endpoints": Family(
        f"{NS}/endpoints",
        api("Endpoints", "v1", "m", subsets=[{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]),
        [
            ("subsets/0/addresses/0/hostname", "a.b"),
            ("subsets/0/addresses/0/nodeName", "A"),
            ("subsets/0/addresses/0/nodeName", ""),
            ("subsets/0/ports/0/appProtocol", "a b"),
        ],
    ),
    "PriorityClass": Family(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        api("PriorityClass", "scheduling.k8s.io/v1", "m", value=5),
        [("preemptionPolicy", "")],
    ),
    "Secret": Family(
        f"{NS}/secrets",
        api("Secret", "v1", "m", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "e30="}),
        [("data/.dockerconfigjson", ""), ("data/.dockerconfigjson", "YQ==")],
    ),
    "Secret of a key": Family(
        f"{NS}/secrets",
        api("Secret", "v1", "m", type="kubernetes.io/ssh-auth", data={"ssh-privatekey": "YQ=="}),
        [("data/ssh-privatekey", "")],
    ),
    "Event": Family(
        "/apis/events.k8s.io/v1/namespaces/diff/events",
        {**api("Event", "events.k8s.io/v1", "m"), **_NEWS},
        [
            ("regarding", {"kind": "Pod", "namespace": "other"}),
            ("series", {}),
            ("series", {"count": 2}),
            ("type", "Bogus"),
            ("reportingController", ...),
            ("deprecatedCount", 1),
            ("deprecatedFirstTimestamp", "2024-01-01T00:00:00Z"),
            ("deprecatedLastTimestamp", "2024-01-01T00:00:00Z"),
            ("deprecatedSource", {"component": "a"}),
        ],
    ),
    "old Event": Family(
        f"{NS}/events",
        {**api("Event", "v1", "m"), "involvedObject": {"kind": "Pod", "namespace": "diff"}, "reason": "R"},
        [("eventTime", "2024-01-01T00:00:00.000000Z"), ("involvedObject/namespace", "other")],
    ),
    "Node": Family(
        "/api/v1/nodes",
        api("Node", "v1", "m", status={"capacity": {"cpu": "1"}}),
        [("status/capacity", {"Bad Key!": "1"}), ("status/capacity", {"cpu": "-1"})],
    ),
    "VolumeAttachment": Family(
        "/apis/storage.k8s.io/v1/volumeattachments",
        api("VolumeAttachment", "storage.k8s.io/v1", "m", spec={**_ATTACHED, "source": {"inlineVolumeSpec": _INLINE}}),
        [
            (f"{_INLINED}/csi", ...),
            (f"{_INLINED}/csi/driver", ""),
            (f"{_INLINED}/accessModes", []),
            (f"{_INLINED}/capacity", {"storage": "1Gi"}),
            (f"{_INLINED}/claimRef", {"name": "a"}),
            (f"{_INLINED}/storageClassName", "a"),
            (f"{_INLINED}/volumeMode", "Block"),
            (f"{_INLINED}/persistentVolumeReclaimPolicy", "Retain"),
            (f"{_INLINED}/nodeAffinity", _REACH),
        ],
    ),
    "ResourceClaim": Family(
        "/apis/resource.k8s.io/v1/namespaces/diff/resourceclaims",
        api("ResourceClaim", "resource.k8s.io/v1", "m", spec=_DEVICES),
        [
            (_TOLERATION, {}),
            (_TOLERATION, {"key": "a b", "operator": "Exists"}),
            (_TOLERATION, {"key": "a", "operator": "Bogus"}),
            (_TOLERATION, {"key": "a", "operator": "Exists", "value": "b"}),
            (_TOLERATION, {"key": "a", "value": "b c"}),
            (_TOLERATION, {"key": "a", "effect": "PreferNoSchedule"}),
        ],
    ),
    "ResourceClaimTemplate": Family(
        "/apis/resource.k8s.io/v1/namespaces/diff/resourceclaimtemplates",
        api("ResourceClaimTemplate", "resource.k8s.io/v1", "m", spec={"metadata": {}, "spec": _DEVICES}),
        [
            ("spec/metadata", {"labels": {"a b": "c"}}),
            ("spec/metadata", {"annotations": {"a b": "c"}}),
            ("spec/metadata", {"name": "a", "namespace": "b", "generateName": "c", "generation": 3}),
        ],
    ),
    "ResourceSlice": Family(
        "/apis/resource.k8s.io/v1/resourceslices",
        api("ResourceSlice", "resource.k8s.io/v1", "m", spec=_SLICE),
        [
            ("spec/nodeSelector", {}),
            ("spec/nodeSelector/nodeSelectorTerms/1", {}),
            ("spec/nodeSelector/nodeSelectorTerms/0/matchExpressions/0/operator", "Bogus"),
        ],
    ),
    "RuntimeClass": Family(
        "/apis/node.k8s.io/v1/runtimeclasses",
        api("RuntimeClass", "node.k8s.io/v1", "m", handler="h"),
        [("overhead", {"podFixed": {"bogus": "1", "hugepages-2Mi": "3"}})],
    ),
}


_GATED: JsonObject = {
    "automountServiceAccountToken": False,
    "containers": [{"name": "main", "image": "nginx:1"}],
    "schedulingGates": [{"name": "a.b/c"}],
    "nodeSelector": {"a": "b"},
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}},
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": _SELECTOR, "topologyKey": "zone"}]
        },
    },
}
_TERMS = f"{_NODES}/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
_MORE = {"key": "c", "operator": "Exists"}
_BALANCED: JsonObject = {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerClass": "a.b/c"}
_OUTSIDE: JsonObject = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "csi": {"driver": "d.example.com", "volumeHandle": "h"},
    "nodeAffinity": {"required": {"nodeSelectorTerms": [_TERM]}},
}

CHANGES = {
    "Pod": Family(
        f"{NS}/pods",
        api("Pod", "v1", "changed", spec=_GATED),
        [
            ("spec/schedulingGates", []),
            ("spec/schedulingGates/1", {"name": "d"}),
            ("spec/nodeSelector/c", "d"),
            ("spec/nodeSelector/a", "c"),
            ("spec/nodeSelector", ...),
            (f"{_TERMS}/1", _TERM),
            (f"{_TERMS}/0/matchExpressions/1", _MORE),
            (f"{_TERMS}/0/matchExpressions/0", _MORE),
            ("spec/affinity/podAffinity", ...),
        ],
    ),
    "Service": Family(
        f"{NS}/services",
        api("Service", "v1", "changed", spec=_BALANCED),
        [("spec/loadBalancerClass", "d.e/f"), ("spec/loadBalancerClass", ...)],
    ),
    "PersistentVolumeClaim": Family(
        f"{NS}/persistentvolumeclaims",
        api("PersistentVolumeClaim", "v1", "changed", spec=_CLAIM),
        [("spec/volumeAttributesClassName", "gold"), ("spec/volumeName", "v")],
    ),
    "PersistentVolume": Family(
        "/api/v1/persistentvolumes",
        api("PersistentVolume", "v1", "changed", spec=_OUTSIDE),
        [
            ("spec/nodeAffinity", ...),
            ("spec/csi/controllerExpandSecretRef", {"name": "s", "namespace": "n"}),
            ("spec/csi/nodePublishSecretRef", {"name": "s", "namespace": "n"}),
        ],
    ),
}
"""Objects that exist, and what an update may make of them."""
