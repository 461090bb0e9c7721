"""The RBAC rules of the operator. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule

_CORE_STATUSES: Final = ("pods", "nodes", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims")
_APPS_STATUSES: Final = ("deployments", "replicasets", "statefulsets", "daemonsets")
_ALL: Final = (*FOLLOW, "create", "delete", "patch")
RULES: Final[list[JsonObject]] = [
    rule("", ["pods", "persistentvolumes"], _ALL),
    rule("", ["pods/binding", "events"], ["create"]),
    rule("", ["events"], ["patch"]),
    rule("", ["nodes"], [*FOLLOW, "create"]),
    rule("", ["services", "replicationcontrollers", "configmaps"], FOLLOW),
    rule("", ["persistentvolumeclaims"], [*FOLLOW, "create", "patch"]),
    rule("", [f"{each}/status" for each in _CORE_STATUSES], ["patch"]),
    rule("apps", ["statefulsets", "daemonsets"], FOLLOW),
    rule("apps", ["deployments"], [*FOLLOW, "patch"]),
    rule("apps", ["replicasets", "controllerrevisions"], _ALL),
    rule("apps", [f"{each}/status" for each in _APPS_STATUSES], ["patch"]),
    rule("batch", ["cronjobs"], FOLLOW),
    rule("batch", ["jobs"], [*FOLLOW, "create", "delete"]),
    rule("batch", ["jobs/status", "cronjobs/status"], ["patch"]),
    rule("discovery.k8s.io", ["endpointslices"], _ALL),
    rule("coordination.k8s.io", ["leases"], ["create", "patch"]),
]
