"""One request of a conversation, and what several parts of it are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL_LIST_PROTOBUF = f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

NS = "/api/v1/namespaces/diff"
CM = f"{NS}/configmaps"
DEPLOY = "/apis/apps/v1/namespaces/diff/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/diff/widgets"
NAMELESS = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "9"}}
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/diff"


class Step(NamedTuple):
    id: str
    method: str
    path: str
    body: Any = None
    type: str = ""
    accept: str = ""
    is_late: bool = False
    """The real server decides it by a cache that may lag; it stores nothing, so it can be asked again."""
    user: str = ""
    """Who asks, if not the superuser."""
    groups: tuple[str, ...] = ()


def account(namespace: str) -> Step:
    """The account that Pods need there; on a cluster, a controller creates it."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    return Step(f"default account of {namespace}", "POST", path, api("ServiceAccount", "v1", "default"))


def cm(name: str, data: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {"x": "1"}}


def api(kind: str, group_version: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": group_version, "kind": kind, "metadata": {"name": name}, **more}
