"""The RBAC rules of the operator, of its webhook and of its pages: the permissions they need, and no others. Pure.

A test runs every feature of the operator with exactly these permissions. The role of the operator has seven rules,
whether it may change workloads or not.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, READ, rule
from homeostat.operators.policy.api import GROUP

_POLICIES = ("devopspolicies", "clusterdevopspolicies")
_WORKLOADS = ("deployments", "statefulsets", "daemonsets")
_OBSERVED = ("pods", "namespaces", "replicasets", "poddisruptionbudgets")


def operator_rules(*, can_enforce: bool) -> list[JsonObject]:
    return [
        # A finalizer is a field of the policy, so setting it needs the permission to patch the policy.
        rule(GROUP, _POLICIES, [*FOLLOW, "patch"]),
        rule(GROUP, [f"{each}/status" for each in _POLICIES], ["patch"]),
        # Required by OwnerReferencesPermissionEnforcement, for owner references with blockOwnerDeletion.
        rule(GROUP, [f"{each}/finalizers" for each in _POLICIES], ["update"]),
        rule(GROUP, ["policyauditresults"], [*FOLLOW, "create", "delete"]),
        # No two of these groups have a resource of the same name. Policies with CEL rules get single Pods.
        {**rule("", _OBSERVED, READ), "apiGroups": ["", "apps", "policy"]},
        rule("apps", _WORKLOADS, [*FOLLOW, "patch"] if can_enforce else FOLLOW),
        rule("", ["events"], ["create", "patch"]),
    ]


def webhook_rules() -> list[JsonObject]:
    return [rule(GROUP, _POLICIES, FOLLOW), rule("", ["namespaces"], FOLLOW)]


RULES: Final = operator_rules(can_enforce=True)
DASHBOARD_RULES: Final = (rule(GROUP, _POLICIES, READ), rule(GROUP, ["policyauditresults"], ["get", "list"]))
