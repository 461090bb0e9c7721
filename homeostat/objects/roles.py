"""Accounts, roles and what binds them, as objects of RBAC. Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

_GROUP = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
FOLLOW = ("list", "watch")


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def control_rules(kind: Kind, *, has_finalizer: bool = False) -> list[JsonObject]:
    """What the runtime does for a kind that an operator controls: reads, status, finalizer, Events. What the operator
    watches besides, and what its actions write, is not in it.
    """
    return [
        # A finalizer is part of the object itself, and may not be set by who may not change it.
        rule(kind.group, [kind.plural], [*READ, "patch"] if has_finalizer else READ),
        rule(kind.group, [f"{kind.plural}/status"], ["patch"]),
        rule("", ["events"], ["create", "patch"]),
    ]


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


def split_rules(
    rules: Sequence[JsonObject], wide: Container[tuple[str, str]]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """What only a role of the cluster can grant, since it is about `wide` resources (group and name) or about none;
    and what one of a namespace can.
    """
    far: list[JsonObject] = []
    near: list[JsonObject] = []
    for each in rules:
        names, groups = each.get("resources") or [], each.get("apiGroups") or []
        apart = [name for name in names if any((group, name.partition("/")[0]) in wide for group in groups)]
        together = [name for name in names if name not in apart]
        if apart or not names:
            far.append({**each, "resources": apart} if names else each)
        if together:
            near.append({**each, "resources": together})
    return far, near


def _kind(metadata: JsonObject) -> str:
    return "Role" if "namespace" in metadata else "ClusterRole"
