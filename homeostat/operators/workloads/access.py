"""The RBAC rules of the operator. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule

_ALL: Final = (*FOLLOW, "create", "delete", "patch")
RULES: Final[list[JsonObject]] = [
    rule("", ["pods"], _ALL),
    rule("", ["pods/binding", "events"], ["create"]),
    rule("", ["pods/status", "nodes/status", "replicationcontrollers/status", "events"], ["patch"]),
    rule("", ["nodes"], [*FOLLOW, "create"]),
    rule("", ["replicationcontrollers", "configmaps"], FOLLOW),
    rule("apps", ["deployments"], [*FOLLOW, "patch"]),
    rule("apps", ["replicasets"], _ALL),
    rule("apps", ["deployments/status", "replicasets/status"], ["patch"]),
    rule("coordination.k8s.io", ["leases"], ["create", "patch"]),
]
