"""What the operator and its webhook may do in a cluster: each as much as it needs, and the webhook only reads. Pure.

That it suffices is tested: the operator does all it can do on a server, as exactly this service account. The role of
the operator has seven rules, whether it may change workloads or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.cli.policysite import OPERATOR, WEBHOOK, Site, metadata_of
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import GROUP

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_FOLLOW = ("list", "watch")


def access_documents(site: Site) -> list[JsonObject]:
    """The namespace, and for the operator and the webhook an account, a role and what binds them."""
    space: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata_of(site.namespace, "namespace")}
    leases = [_rule("coordination.k8s.io", ["leases"], ["get", "create", "update"])]
    return [
        space,
        _account(site, OPERATOR, "operator"),
        *_cluster_role(site, OPERATOR, "operator", operator_rules(can_enforce=site.can_enforce)),
        *_role(site, f"{OPERATOR}-leases", OPERATOR, leases),
        _account(site, WEBHOOK, "webhook"),
        *_cluster_role(site, WEBHOOK, "webhook", webhook_rules()),
    ]


def lone_access_documents(site: Site) -> list[JsonObject]:
    """For one operator without election and webhook, in a namespace that is there: an account, a role, a binding."""
    rules = operator_rules(can_enforce=site.can_enforce)
    return [_account(site, OPERATOR, "operator"), *_cluster_role(site, OPERATOR, "operator", rules)]


def operator_rules(*, can_enforce: bool) -> list[JsonObject]:
    policies = ["devopspolicies", "clusterdevopspolicies"]
    workloads = ["deployments", "statefulsets", "daemonsets"]
    seen = ["pods", "namespaces", "replicasets", "poddisruptionbudgets"]
    return [
        # A finalizer is part of the policy itself, and may not be set by who may not change it.
        _rule(GROUP, policies, [*_FOLLOW, "patch"]),
        _rule(GROUP, [f"{each}/status" for each in policies], ["patch"]),
        # Asked for by servers that check who may set an owner reference which blocks.
        _rule(GROUP, [f"{each}/finalizers" for each in policies], ["update"]),
        _rule(GROUP, ["policyauditresults"], [*_FOLLOW, "create", "delete"]),
        # No two of these groups have a resource of the same name. One Pod alone is asked where a policy has rules.
        {**_rule("", seen, _READ), "apiGroups": ["", "apps", "policy"]},
        _rule("apps", workloads, [*_FOLLOW, "patch"] if can_enforce else _FOLLOW),
        _rule("", ["events"], ["create", "patch"]),
    ]


def webhook_rules() -> list[JsonObject]:
    return [
        _rule(GROUP, ["devopspolicies", "clusterdevopspolicies"], _FOLLOW),
        _rule("", ["namespaces"], _FOLLOW),
    ]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _account(site: Site, name: str, component: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata_of(name, component, site.namespace)}


def _cluster_role(site: Site, name: str, component: str, rules: list[JsonObject]) -> list[JsonObject]:
    metadata = metadata_of(name, component)
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        _binding(site, "ClusterRole", name, name, metadata),
    ]


def _role(site: Site, name: str, account: str, rules: list[JsonObject]) -> list[JsonObject]:
    metadata = metadata_of(name, "operator", site.namespace)
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        _binding(site, "Role", name, account, metadata),
    ]


def _binding(site: Site, kind: str, role: str, account: str, metadata: JsonObject) -> JsonObject:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": site.namespace}],
    }
