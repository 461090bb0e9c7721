"""The RBAC rules of the operator. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule

_CORE_STATUSES: Final = ("pods", "nodes", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims")
_APPS_STATUSES: Final = ("deployments", "replicasets", "statefulsets", "daemonsets")
_SCALED: Final = ("deployments", "replicasets", "statefulsets")
_ALL: Final = (*FOLLOW, "create", "delete", "patch")
_OWNERS: Final = ("get", *FOLLOW)
"""An owner is read before it adopts something."""
RULES: Final[list[JsonObject]] = [
    rule("", ["pods", "persistentvolumes"], _ALL),
    rule("", ["pods/binding", "events"], ["create"]),
    rule("", ["events"], ["patch"]),
    rule("", ["nodes"], ["get", *FOLLOW, "create", "patch"]),
    rule("", ["services", "configmaps"], FOLLOW),
    rule("", ["replicationcontrollers"], _OWNERS),
    rule("", ["persistentvolumeclaims"], [*FOLLOW, "create", "patch"]),
    rule("", [f"{each}/status" for each in _CORE_STATUSES], ["patch"]),
    rule("apps", ["deployments", "statefulsets", "daemonsets"], _OWNERS),
    rule("apps", ["replicasets", "controllerrevisions"], ["get", *_ALL]),
    rule("apps", [f"{each}/status" for each in _APPS_STATUSES], ["patch"]),
    rule("", ["replicationcontrollers/scale"], ["patch"]),
    rule("apps", [f"{each}/scale" for each in _SCALED], ["patch"]),
    rule("autoscaling", ["horizontalpodautoscalers"], FOLLOW),
    rule("autoscaling", ["horizontalpodautoscalers/status"], ["patch"]),
    rule("batch", ["cronjobs"], FOLLOW),
    rule("batch", ["jobs"], [*_OWNERS, "create", "delete"]),
    rule("batch", ["jobs/status", "cronjobs/status"], ["patch"]),
    rule("", ["endpoints"], _ALL),
    rule("discovery.k8s.io", ["endpointslices"], _ALL),
    rule("storage.k8s.io", ["storageclasses"], FOLLOW),
    rule("policy", ["poddisruptionbudgets"], FOLLOW),
    rule("*", ["*/scale"], ["get"]),
    rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
    rule("coordination.k8s.io", ["leases"], ["create", "patch"]),
]
