"""What the REST API and the dashboard do in a cluster, beside what their operator does, as rules of roles. Pure.

Who may do what there is for them to judge: they read and write on behalf of all their users. Of the cluster they want
types, resources and what is asked of the server about tokens and rights; all else is in the one namespace they serve.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import READ, rule
from homeostat.operators.actions.api import GROUP, RESOURCES
from homeostat.operators.policy.api import GROUP as POLICY_GROUP

CLUSTER_RULES: Final[list[JsonObject]] = [
    rule(GROUP, ["resourcetypes"], [*READ, "create", "update", "patch", "delete"]),
    rule(RESOURCES, ["*"], [*READ, "create", "update", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"]),
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    # Shown by the dashboard, where there are any.
    rule(POLICY_GROUP, ["devopspolicies", "clusterdevopspolicies", "policyauditresults"], ["get", "list"]),
]
NAMESPACE_RULES: Final[list[JsonObject]] = [
    # What was declared otherwise is given its number by a patch.
    rule(GROUP, ["restusers", "restroles", "restwebhooks"], [*READ, "create", "update", "patch"]),
    rule(GROUP, ["restroles", "restwebhooks"], ["delete"]),
    rule(GROUP, ["restusers/status"], ["patch"]),
    rule(GROUP, ["reconciliations"], ["get", "list"]),
    rule(GROUP, ["runoutputs"], ["get"]),
    # Hashes of passwords and the key of tokens; the numbers that were given out.
    rule("", ["secrets"], ["get", "create", "patch", "delete"]),
    rule("", ["configmaps"], ["get", "create", "update"]),
]
LEASE_RULES: Final[list[JsonObject]] = [rule("coordination.k8s.io", ["leases"], ["list"])]
"""Who leads is told from the Leases, in their namespace."""
