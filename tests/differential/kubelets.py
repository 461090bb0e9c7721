"""The part of the conversation that kubelets hold: what a Node may read and write, by the Pods that are bound to it."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, Step, account, api, cm

_NS = "/api/v1/namespaces/kubelets"
_PODS = f"{_NS}/pods"
_CLAIMS = f"{_NS}/persistentvolumeclaims"
_NODES = "/api/v1/nodes"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
_CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_GROUPS = ("system:nodes", "system:authenticated")
_MIRROR = {"kubernetes.io/config.mirror": "x"}


def _by(node: str, id_: str, method: str, path: str, body: Any = None, type_: str = "") -> Step:
    """A step of a Node. The real server decides by a cache that lags behind; what stores nothing is asked again."""
    is_late, user = method == "GET" or path.endswith("token"), f"system:node:{node}"
    return Step(f"{node}: {id_}", method, path, body, type_, user=user, groups=_GROUPS, is_late=is_late)


def _pod(name: str, node: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "nginx:1"}
    return api("Pod", "v1", name, spec={"containers": [container], "nodeName": node, **spec})


def _mirror(name: str, node: str = "k1", **metadata: Any) -> dict[str, Any]:
    pod = _pod(name, node)
    return {**pod, "metadata": {"name": name, "annotations": _MIRROR, **metadata}}


def _owner(**more: Any) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Node", "name": "k1", "uid": "other", "controller": True, **more}]


def _lease(name: str) -> dict[str, Any]:
    return api("Lease", "coordination.k8s.io/v1", name, spec={"holderIdentity": name})


def _csi_node(name: str) -> dict[str, Any]:
    return api(
        "CSINode", "storage.k8s.io/v1", name, spec={"drivers": [{"name": "d", "nodeID": name, "topologyKeys": ["a"]}]}
    )


def _secret(name: str) -> Step:
    return Step(f"kubelets' secret {name}", "POST", f"{_NS}/secrets", api("Secret", "v1", name))


_VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "claimRef": {"namespace": "kubelets", "name": "claim"},
    "csi": {
        "driver": "d",
        "volumeHandle": "h",
        "nodePublishSecretRef": {"name": "publish", "namespace": "kubelets"},
        "controllerPublishSecretRef": {"name": "controller", "namespace": "kubelets"},
    },
}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_SETUP = [
    Step("namespace of kubelets", "POST", "/api/v1/namespaces", api("Namespace", "v1", "kubelets")),
    account("kubelets"),
    *(_secret(name) for name in ("mounted", "unused", "environment", "pull", "publish", "controller")),
    Step("kubelets' map", "POST", f"{_NS}/configmaps", cm("settings")),
    Step(
        "kubelets' claim",
        "POST",
        _CLAIMS,
        api("PersistentVolumeClaim", "v1", "claim", spec=_CLAIM),
    ),
    Step(
        "kubelets' volume", "POST", "/api/v1/persistentvolumes", api("PersistentVolume", "v1", "kubelets", spec=_VOLUME)
    ),
    Step(
        "kubelets' pod",
        "POST",
        _PODS,
        _pod(
            "bound",
            "k1",
            imagePullSecrets=[{"name": "pull"}],
            containers=[{"name": "main", "image": "b", "envFrom": [{"secretRef": {"name": "environment"}}]}],
            volumes=[
                {"name": "s", "secret": {"secretName": "mounted"}},
                {"name": "m", "configMap": {"name": "settings"}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
            ],
        ),
    ),
    Step("kubelets' other pod", "POST", _PODS, _pod("elsewhere", "k2")),
]
_READS = [
    step
    for node in ("k1", "k2")
    for step in (
        *(_by(node, f"secret {name}", "GET", f"{_NS}/secrets/{name}") for name in ("mounted", "environment", "pull")),
        *(_by(node, f"secret {name}", "GET", f"{_NS}/secrets/{name}") for name in ("publish", "controller", "unused")),
        _by(node, "secret by its name", "GET", f"{_NS}/secrets?fieldSelector=metadata.name=mounted"),
        _by(node, "map", "GET", f"{_NS}/configmaps/settings"),
        _by(node, "authority", "GET", f"{_NS}/configmaps/kube-root-ca.crt"),
        _by(node, "claim", "GET", f"{_NS}/persistentvolumeclaims/claim"),
        _by(node, "volume", "GET", "/api/v1/persistentvolumes/kubelets"),
        _by(node, "pod", "GET", f"{_PODS}/bound"),
        _by(node, "account", "GET", f"{_NS}/serviceaccounts/default"),
        _by(node, "pods of k1", "GET", "/api/v1/pods?fieldSelector=spec.nodeName=k1&limit=1"),
        _by(node, "the node", "GET", f"{_NODES}/k1"),
        _by(node, "lease", "GET", f"{_LEASES.format('kube-node-lease')}/k1"),
        _by(node, "CSI node", "GET", f"{_CSI_NODES}/k1"),
    )
]
_EVICTION = api("Eviction", "policy/v1", "elsewhere")
_LABELLED = {"example.com/a": "b", "kubernetes.io/hostname": "k1", "node.kubernetes.io/x": "y"}
_REFUSED = [
    _by("k1", "all secrets", "GET", f"{_NS}/secrets"),
    _by("k1", "secrets everywhere", "GET", "/api/v1/secrets"),
    _by("k1", "a new secret", "POST", f"{_NS}/secrets", api("Secret", "v1", "new")),
    _by("k1", "all pods", "GET", "/api/v1/pods"),
    _by("k1", "all nodes", "GET", _NODES),
    _by("k1", "another node", "GET", f"{_NODES}/k2"),
    _by("k1", "deleted node", "DELETE", f"{_NODES}/k1"),
    _by("k1", "deployments", "GET", "/apis/apps/v1/deployments"),
    _by("k1", "all leases", "GET", _LEASES.format("kube-node-lease")),
    _by("k1", "a lease elsewhere", "GET", f"{_LEASES.format('kubelets')}/k1"),
    _by("k1", "another's lease", "GET", f"{_LEASES.format('kube-node-lease')}/k2"),
    _by("k1", "all CSI nodes", "GET", _CSI_NODES),
    _by("k1", "another's CSI node", "GET", f"{_CSI_NODES}/k2"),
    _by("k1", "a new account", "POST", f"{_NS}/serviceaccounts", api("ServiceAccount", "v1", "new")),
    _by("k1", "a pod", "POST", _PODS, _pod("own", "k1")),
    _by("k1", "a mirror pod elsewhere", "POST", _PODS, _mirror("m", "k2")),
    _by("k1", "a mirror pod without an owner", "POST", _PODS, _mirror("m")),
    _by(
        "k1",
        "a mirror pod of two",
        "POST",
        _PODS,
        _mirror("m", ownerReferences=[*_owner(), *_owner(name="k2", controller=False)]),
    ),
    _by("k1", "a mirror pod of another", "POST", _PODS, _mirror("m", ownerReferences=_owner(name="k2"))),
    _by("k1", "a mirror pod without control", "POST", _PODS, _mirror("m", ownerReferences=_owner(controller=False))),
    _by("k1", "a pod's label", "PATCH", f"{_PODS}/bound", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    _by("k1", "another's pod deleted", "DELETE", f"{_PODS}/elsewhere"),
    _by("k1", "another's pod evicted", "POST", f"{_PODS}/elsewhere/eviction", _EVICTION),
    _by("k1", "another's pod status", "PATCH", f"{_PODS}/elsewhere/status", {"status": {"phase": "Running"}}, MERGE),
    _by("k1", "labels by a status", "PATCH", f"{_PODS}/bound/status", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    _by("k1", "another node created", "POST", _NODES, api("Node", "v1", "k2")),
    _by(
        "k1",
        "a node with labels",
        "POST",
        _NODES,
        {"metadata": {"name": "k1", "labels": {"node-restriction.kubernetes.io/a": "b", "kubernetes.io/b": "c"}}},
    ),
    _by("k1", "taints", "PATCH", f"{_NODES}/k1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, MERGE),
    _by("k1", "restricted labels", "PATCH", f"{_NODES}/k1", {"metadata": {"labels": {"k8s.io/a": "b"}}}, MERGE),
    _by("k1", "owners", "PATCH", f"{_NODES}/k1", {"metadata": {"ownerReferences": _owner()}}, MERGE),
    _by(
        "k1",
        "a lease of another",
        "POST",
        _LEASES.format("kube-node-lease"),
        _lease("k2"),
    ),
    _by(
        "k1",
        "a CSI node of another",
        "POST",
        _CSI_NODES,
        _csi_node("k2"),
    ),
    _by(
        "k1",
        "a claim's spec",
        "PATCH",
        f"{_CLAIMS}/claim",
        {"metadata": {"labels": {"a": "b"}}},
        MERGE,
    ),
    _by("k1", "a token of no pod", "POST", f"{_NS}/serviceaccounts/default/token", {"spec": {}}),
    _by(
        "k1",
        "a token of a pod without uid",
        "POST",
        f"{_NS}/serviceaccounts/default/token",
        {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "bound"}}},
    ),
    _by("k3", "a token", "POST", f"{_NS}/serviceaccounts/default/token", {"spec": {}}),
    _by("", "a secret", "GET", f"{_NS}/secrets/mounted"),
]
_WRITES = [
    _by("k1", "its node", "POST", _NODES, {"metadata": {"name": "k1", "labels": _LABELLED}}),
    Step("k2's node", "POST", _NODES, api("Node", "v1", "k2")),
    _by("k1", "its lease", "POST", _LEASES.format("kube-node-lease"), _lease("k1")),
    _by("k1", "its CSI node", "POST", _CSI_NODES, _csi_node("k1")),
    _by("k1", "its node's label", "PATCH", f"{_NODES}/k1", {"metadata": {"labels": {"example.com/a": "c"}}}, MERGE),
    _by("k1", "its node's status", "PATCH", f"{_NODES}/k1/status", {"status": {"phase": "Running"}}, MERGE),
    _by("k1", "its pod's status", "PATCH", f"{_PODS}/bound/status", {"status": {"phase": "Running"}}, MERGE),
    _by(
        "k1",
        "an event",
        "POST",
        "/api/v1/namespaces/default/events",
        {"metadata": {"name": "k1"}, "involvedObject": {"kind": "Node", "name": "k1"}, "reason": "A", "type": "Normal"},
    ),
    _by(
        "k1",
        "whether it may get",
        "POST",
        _REVIEWS,
        {
            "spec": {
                "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "kubelets", "name": "mounted"}
            }
        },
    ),
]
_LAST = [
    _by("k1", "its pod deleted", "DELETE", f"{_PODS}/bound?gracePeriodSeconds=0"),
    _by("k1", "a secret afterwards", "GET", f"{_NS}/secrets/mounted"),
]
KUBELET_STEPS = [*_SETUP, *_WRITES, *_READS, *_REFUSED, *_LAST]
WORDED = [step.id for step in _REFUSED]
"""Steps whose messages are compared too."""
