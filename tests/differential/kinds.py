"""The part of the conversation that is about kinds of storage, devices, addresses and flow control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.step import MERGE, TABLE, Step, api

_NODES, _STORAGE, _FLOW = "/apis/node.k8s.io/v1", "/apis/storage.k8s.io/v1", "/apis/flowcontrol.apiserver.k8s.io/v1"
_NETWORK, _DEVICES = "/apis/networking.k8s.io/v1", "/apis/resource.k8s.io/v1"
CLAIMS = f"{_DEVICES}/namespaces/diff/resourceclaims"
_WANTED = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}
_ALLOCATION = {"devices": {"results": [{"request": "one", "driver": "gpu.example.com", "pool": "p", "device": "d"}]}}
_POOL = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
_RULE = {
    "subjects": [{"kind": "User", "user": {"name": "jane"}}],
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
}

# kind: (group and version, collection, a good object, a merge patch that is allowed, one that is not, a bad object)
_KINDS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "RuntimeClass": (
        "node.k8s.io/v1",
        f"{_NODES}/runtimeclasses",
        {"handler": "fast", "overhead": {"podFixed": {"cpu": "100m"}}},
        {"scheduling": {"nodeSelector": {"a": "b"}}},
        {"handler": "slow"},
        {"handler": "Fast!", "scheduling": {"nodeSelector": {"a b": "c"}}, "overhead": {"podFixed": {"cpu": "-1"}}},
    ),
    "CSIDriver": (
        "storage.k8s.io/v1",
        f"{_STORAGE}/csidrivers",
        {"spec": {"podInfoOnMount": True, "tokenRequests": [{"audience": "a"}]}},
        {"spec": {"requiresRepublish": True}},
        {"spec": {"attachRequired": False}},
        {
            "spec": {
                "fsGroupPolicy": "Some",
                "volumeLifecycleModes": ["Eternal"],
                "tokenRequests": [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}],
            }
        },
    ),
    "CSINode": (
        "storage.k8s.io/v1",
        f"{_STORAGE}/csinodes",
        {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["zone"]}]}},
        {"spec": {"drivers": [{"name": "e.example.com", "nodeID": "n", "topologyKeys": ["a"]}]}},
        {"spec": {"drivers": [{"name": "e.example.com", "nodeID": "m"}]}},
        {"spec": {"drivers": [{"name": "a", "nodeID": ""}, {"name": "a", "nodeID": "b", "topologyKeys": ["x", "x"]}]}},
    ),
    "VolumeAttachment": (
        "storage.k8s.io/v1",
        f"{_STORAGE}/volumeattachments",
        {"spec": {"attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"nodeName": "other"}},
        {"spec": {"attacher": "", "nodeName": "", "source": {}}},
    ),
    "VolumeAttributesClass": (
        "storage.k8s.io/v1",
        f"{_STORAGE}/volumeattributesclasses",
        {"driverName": "d.example.com", "parameters": {"iops": "1"}},
        {"metadata": {"labels": {"a": "b"}}},
        {"parameters": {"iops": "2"}},
        {"driverName": "", "parameters": {}},
    ),
    "CSIStorageCapacity": (
        "storage.k8s.io/v1",
        f"{_STORAGE}/namespaces/diff/csistoragecapacities",
        {"storageClassName": "fast", "capacity": "5Gi", "nodeTopology": {"matchLabels": {"zone": "a"}}},
        {"capacity": "4Gi"},
        {"storageClassName": "slow"},
        {"storageClassName": "Not_One", "capacity": "-1", "nodeTopology": {"matchExpressions": [{"key": "a"}]}},
    ),
    "FlowSchema": (
        "flowcontrol.apiserver.k8s.io/v1",
        f"{_FLOW}/flowschemas",
        {"spec": {"priorityLevelConfiguration": {"name": "diff-level"}, "rules": [_RULE]}},
        {"spec": {"matchingPrecedence": 900}},
        {"spec": {"matchingPrecedence": 1}},
        {
            "spec": {
                "priorityLevelConfiguration": {},
                "matchingPrecedence": 20000,
                "distinguisherMethod": {"type": "ByDay"},
                "rules": [
                    {"subjects": [{"kind": "User", "group": {"name": "a"}}, {"kind": "Cat"}]},
                    {
                        "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": ""}}],
                        "resourceRules": [{"verbs": ["eat"], "apiGroups": ["*", "a"], "resources": []}],
                        "nonResourceRules": [{"verbs": ["*", "get"], "nonResourceURLs": ["a", "/a/*b", "/a//b"]}],
                    },
                ],
            }
        },
    ),
    "PriorityLevelConfiguration": (
        "flowcontrol.apiserver.k8s.io/v1",
        f"{_FLOW}/prioritylevelconfigurations",
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}},
        {"spec": {"limited": {"nominalConcurrencyShares": 5}}},
        {"spec": {"limited": {"limitResponse": {"queuing": {"handSize": 64}}}}},
        {
            "spec": {
                "type": "Limited",
                "exempt": {},
                "limited": {"lendablePercent": 101, "borrowingLimitPercent": -1, "limitResponse": {"type": "Wait"}},
            }
        },
    ),
    "IPAddress": (
        "networking.k8s.io/v1",
        f"{_NETWORK}/ipaddresses",
        {"spec": {"parentRef": {"resource": "services", "namespace": "diff", "name": "svc"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"parentRef": {"name": "other"}}},
        {"spec": {"parentRef": {"group": "A_b", "resource": "", "name": "a/b"}}},
    ),
    "ServiceCIDR": (
        "networking.k8s.io/v1",
        f"{_NETWORK}/servicecidrs",
        {"spec": {"cidrs": ["10.9.0.0/24"]}},
        {"spec": {"cidrs": ["10.9.0.0/24", "fd00::/112"]}},
        {"spec": {"cidrs": ["10.8.0.0/24"]}},
        {"spec": {"cidrs": ["10.9.0.0/24", "10.10.0.0/24"]}},
    ),
    "ResourceClaim": (
        "resource.k8s.io/v1",
        CLAIMS,
        {"spec": _WANTED},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"devices": {"requests": [{"name": "two", "exactly": {"deviceClassName": "gpu"}}]}}},
        {
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "a"},
                        {"name": "A!", "exactly": {"deviceClassName": "", "allocationMode": "All", "count": 3}},
                        {"name": "a", "exactly": {"deviceClassName": "b", "count": -1}},
                        {"name": "c", "exactly": {"deviceClassName": "b", "selectors": [{"cel": {"expression": "1"}}]}},
                    ],
                    "config": [{"requests": ["none"]}],
                    "constraints": [{"requests": ["a"], "matchAttribute": "short"}],
                }
            }
        },
    ),
    "ResourceClaimTemplate": (
        "resource.k8s.io/v1",
        f"{_DEVICES}/namespaces/diff/resourceclaimtemplates",
        {"spec": {"spec": _WANTED}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"metadata": {"labels": {"a": "b"}}}},
        {"spec": {"spec": {"devices": {"requests": [{"name": "a"}]}}}},
    ),
    "DeviceClass": (
        "resource.k8s.io/v1",
        f"{_DEVICES}/deviceclasses",
        {"spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}},
        {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
        {"spec": {"config": [{}]}},
        {
            "spec": {
                "selectors": [
                    {"cel": {"expression": "device.driver == 1"}},
                    {"cel": {"expression": "device.nothing"}},
                    {"cel": {"expression": "1 +"}},
                    {"cel": {"expression": "device.driver"}},
                    {},
                ]
            }
        },
    ),
    "ResourceSlice": (
        "resource.k8s.io/v1",
        f"{_DEVICES}/resourceslices",
        {
            "spec": {
                "driver": "gpu.example.com",
                "pool": _POOL,
                "nodeName": "n",
                "devices": [
                    {"name": "d", "attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "1Gi"}}}
                ],
            }
        },
        {"spec": {"pool": {"generation": 2}}},
        {"spec": {"nodeName": "other"}},
        {
            "spec": {
                "driver": "",
                "pool": {"name": "", "generation": -1, "resourceSliceCount": 0},
                "nodeName": "n",
                "allNodes": True,
                "devices": [
                    {"name": "d", "attributes": {"a-b": {"string": "x"}, "c": {"string": "x", "int": 1}, "d": {}}},
                    {"name": "d", "attributes": {"e": {"version": "one"}}},
                ],
            }
        },
    ),
}
_NAMES = {"IPAddress": "10.9.0.7", "CSIDriver": "d.example.com", "PriorityLevelConfiguration": "diff-level"}
_STATUS: dict[str, dict[str, Any]] = {
    "VolumeAttachment": {"attached": True},
    "ServiceCIDR": {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ok",
                "message": "",
                "lastTransitionTime": "2024-01-01T00:00:00Z",
            }
        ]
    },
    "ResourceClaim": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]},
    "FlowSchema": {"conditions": [{"status": "True"}]},
}
"""The last two are refused."""


def _steps() -> Iterator[Step]:
    for kind, (version, path, good, allowed, refused, bad) in _KINDS.items():
        name = _NAMES.get(kind, "diff")
        yield Step(f"{kind} created", "POST", path, api(kind, version, name, **good))
        yield Step(
            f"{kind} refused", "POST", path, api(kind, version, "10.9.0.8" if kind == "IPAddress" else "bad", **bad)
        )
        yield Step(f"{kind} of nothing", "POST", f"{path}?dryRun=All", api(kind, version, "10.9.0.9"))
        yield Step(f"{kind} of a bad name", "POST", path, api(kind, version, "Bad_Name", **good))
        yield Step(f"{kind} changed", "PATCH", f"{path}/{name}", allowed, MERGE)
        yield Step(f"{kind} not changed", "PATCH", f"{path}/{name}", refused, MERGE)
        yield Step(f"{kind} put", "PUT", f"{path}/{name}", api(kind, version, name, **good))
        if kind in _STATUS:
            yield Step(f"{kind} status", "PATCH", f"{path}/{name}/status", {"status": _STATUS[kind]}, MERGE)
        yield Step(f"{kind} read", "GET", f"{path}/{name}")
        yield Step(f"{kind} table", "GET", f"{path}/{name}", accept=TABLE)
    yield Step("slices of a node", "GET", f"{_DEVICES}/resourceslices?fieldSelector=spec.nodeName=n")
    yield Step("slices of another node", "GET", f"{_DEVICES}/resourceslices?fieldSelector=spec.nodeName=other")
    yield Step("slices by another field", "GET", f"{_DEVICES}/resourceslices?fieldSelector=spec.pool.name=p")
    yield Step("claim allocated", "PATCH", f"{CLAIMS}/diff/status", {"status": {"allocation": _ALLOCATION}}, MERGE)
    other: dict[str, Any] = {"status": {"allocation": {"devices": {"results": []}}}}
    yield Step("claim allocated otherwise", "PATCH", f"{CLAIMS}/diff/status", other, MERGE)
    yield Step("claim allocated, table", "GET", f"{CLAIMS}/diff", accept=TABLE)
    yield Step(
        "runtime class by put",
        "PUT",
        f"{_NODES}/runtimeclasses/put",
        api("RuntimeClass", "node.k8s.io/v1", "put", handler="a"),
    )
    for group in (_NODES, _STORAGE, _FLOW, _NETWORK, _DEVICES):
        yield Step(f"discovery of {group}", "GET", group)
    for kind, (_, path, *_) in _KINDS.items():
        yield Step(f"{kind} deleted", "DELETE", f"{path}/{_NAMES.get(kind, 'diff')}")


KIND_STEPS = list(_steps())
