"""The RBAC rules of the operator and of its pages: the permissions it needs, and no others. Pure.

A test runs every feature of the operator with exactly these permissions. It never writes to a workload. The runtime
needs no finalizer, so a Pacto itself is never written, but for its status.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, READ, rule
from homeostat.operators.contracts.api import GROUP

RULES: Final[list[JsonObject]] = [
    rule(GROUP, ["pactos"], FOLLOW),
    rule(GROUP, ["pactos/status", "pactorevisions/status"], ["patch"]),
    # Required by OwnerReferencesPermissionEnforcement, for owner references with blockOwnerDeletion.
    rule(GROUP, ["pactos/finalizers"], ["update"]),
    rule(GROUP, ["pactorevisions"], [*FOLLOW, "create", "delete"]),
    rule("", ["services"], FOLLOW),
    rule("apps", ["deployments", "statefulsets", "replicasets"], FOLLOW),
    rule("batch", ["jobs", "cronjobs"], FOLLOW),
    # Metadata is watched; the Secrets and ConfigMaps that Pactos name are read.
    rule("", ["secrets", "configmaps"], READ),
    rule("", ["events"], ["create", "patch"]),
]
DASHBOARD_RULES: Final = (
    # Reconcile now is a patch.
    rule(GROUP, ["pactos"], [*READ, "patch"]),
    rule(GROUP, ["pactorevisions"], FOLLOW),
)
