"""Service accounts, roles and bindings, as objects of RBAC. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

_GROUP = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
FOLLOW = ("list", "watch")
_account = re.compile(r"system:serviceaccount:([^:]+):[^:]+").fullmatch


def implied_groups(user: str) -> list[str]:
    """The groups that the server adds: those of every user, and of a service account by its name."""
    account = _account(user)
    own = ["system:serviceaccounts", f"system:serviceaccounts:{account[1]}"] if account is not None else []
    return [*own, "system:authenticated"]


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def control_rules(kind: Kind, *, has_finalizer: bool = False) -> list[JsonObject]:
    """The permissions that the runtime needs for a kind that an operator controls: read, status, finalizer, Events.
    What the operator watches besides, and what its actions write, is not included.
    """
    return [
        # A finalizer is part of the object itself, so setting it needs permission to update the object.
        rule(kind.group, [kind.plural], [*READ, "patch"] if has_finalizer else READ),
        rule(kind.group, [f"{kind.plural}/status"], ["patch"]),
        rule("", ["events"], ["create", "patch"]),
    ]


LEASE_RULES = [rule("coordination.k8s.io", ["leases"], ["get", "create", "update"])]
"""The permissions for leader election, in the namespace of the Leases."""


def service_account(metadata: JsonObject) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def role(metadata: JsonObject, rules: Sequence[JsonObject]) -> JsonObject:
    """A Role if the metadata names a namespace, else a ClusterRole."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": _kind(metadata), "metadata": metadata, "rules": list(rules)}


def binding(metadata: JsonObject, role_name: str, account: JsonObject) -> JsonObject:
    """Binds a service account to a role of the same scope."""
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
    rules: Sequence[JsonObject], cluster_scoped: Container[tuple[str, str]]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The rules that need a ClusterRole, since they are about `cluster_scoped` resources (group and name) or about no
    resource; and the rules that a Role can grant.
    """
    for_cluster: list[JsonObject] = []
    for_namespace: list[JsonObject] = []
    for each in rules:
        names, groups = each.get("resources") or [], each.get("apiGroups") or []
        outside = [name for name in names if any((group, name.partition("/")[0]) in cluster_scoped for group in groups)]
        inside = [name for name in names if name not in outside]
        if outside or not names:
            for_cluster.append({**each, "resources": outside} if names else each)
        if inside:
            for_namespace.append({**each, "resources": inside})
    return for_cluster, for_namespace


def _kind(metadata: JsonObject) -> str:
    return "Role" if "namespace" in metadata else "ClusterRole"
