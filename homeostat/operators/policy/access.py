"""What the operator and its webhook may do in a cluster, as rules of roles: each as much as it needs. Pure.

That it suffices is tested: the operator does all it can do on a server, as exactly this service account. The role of
the operator has seven rules, whether it may change workloads or not.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, READ, rule
from homeostat.operators.policy.api import GROUP

_POLICIES = ("devopspolicies", "clusterdevopspolicies")
_WORKLOADS = ("deployments", "statefulsets", "daemonsets")
_SEEN = ("pods", "namespaces", "replicasets", "poddisruptionbudgets")


def operator_rules(*, can_enforce: bool) -> list[JsonObject]:
    return [
        # A finalizer is part of the policy itself, and may not be set by who may not change it.
        rule(GROUP, _POLICIES, [*FOLLOW, "patch"]),
        rule(GROUP, [f"{each}/status" for each in _POLICIES], ["patch"]),
        # Asked for by servers that check who may set an owner reference which blocks.
        rule(GROUP, [f"{each}/finalizers" for each in _POLICIES], ["update"]),
        rule(GROUP, ["policyauditresults"], [*FOLLOW, "create", "delete"]),
        # No two of these groups have a resource of the same name. One Pod alone is asked where a policy has rules.
        {**rule("", _SEEN, READ), "apiGroups": ["", "apps", "policy"]},
        rule("apps", _WORKLOADS, [*FOLLOW, "patch"] if can_enforce else FOLLOW),
        rule("", ["events"], ["create", "patch"]),
    ]


def webhook_rules() -> list[JsonObject]:
    """It only reads."""
    return [rule(GROUP, _POLICIES, FOLLOW), rule("", ["namespaces"], FOLLOW)]


RULES: Final = operator_rules(can_enforce=True)
