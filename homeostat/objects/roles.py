"""Accounts, roles and what binds them, as objects of RBAC. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.json import JsonObject

_GROUP = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
FOLLOW = ("list", "watch")


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


LEASE_RULES = [rule("coordination.k8s.io", ["leases"], ["get", "create", "update"])]
"""Of one among several of which one leads, in the namespace of their Leases."""


def service_account(metadata: JsonObject) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def role(metadata: JsonObject, rules: Sequence[JsonObject]) -> JsonObject:
    """Of a namespace, where the metadata names one; else of the cluster."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": _kind(metadata), "metadata": metadata, "rules": list(rules)}


def binding(metadata: JsonObject, role_name: str, account: JsonObject) -> JsonObject:
    """Gives a service account a role that reaches as far as the binding does."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{_kind(metadata)}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": _kind(metadata), "name": role_name},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": account["metadata"]["name"],
                "namespace": account["metadata"]["namespace"],
            }
        ],
    }


def _kind(metadata: JsonObject) -> str:
    return "Role" if "namespace" in metadata else "ClusterRole"
