"""The permissions of the operator in a cluster, as rules of a role. Pure.

Tests run everything that the operator does as an account with these permissions only, and check that each of them is
used. The kinds of resources are not known beforehand, so the rules cover their whole group, and all
CustomResourceDefinitions: a role cannot select definitions by group.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.crd.user_roles import WRITE, UserRules
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, READ, rule
from homeostat.operators.actions.api import COUNTERS, GROUP, RESOURCES, STATE_PREFIX
from homeostat.runtime.reserved import Reserved

_DECLARED = ("resourcetypes", "resourceinputs")
_TYPES: Final = f"resourcetypes.{GROUP}"
RULES: Final[list[JsonObject]] = [
    # Finalizers are part of the object itself, so setting one needs `patch`.
    rule(GROUP, _DECLARED, [*FOLLOW, "patch"]),
    rule(GROUP, [f"{each}/status" for each in _DECLARED], ["patch"]),
    rule(GROUP, ["reconciliations"], ["list", "create", "delete"]),
    rule(GROUP, ["runoutputs"], ["create", "patch"]),
    # Their status too; inputs create and delete resources.
    rule(RESOURCES, ["*"], ["get", *FOLLOW, "create", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get", "create", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions/status"], ["patch"]),
    # Secrets that configurations refer to, and the states of plugins.
    rule("", ["secrets"], ["get", "create", "patch", "delete"]),
    rule("", ["events"], ["create", "patch"]),
]
USER_RULES: Final = UserRules(edit=(rule(RESOURCES, ["*"], [*READ, *WRITE]),))
"""Not for `view`: a spec may hold passwords."""
RESERVED: Final = (
    # The star above includes the status, by which the operator finds runs to follow and objects to change elsewhere.
    Reserved(group=RESOURCES, subresource="status", owner=_TYPES),
    # A state of Terraform names the programs that read it.
    Reserved(group="", resource="secrets", prefix=STATE_PREFIX, owner=_TYPES),
    # The last numbers that the REST API has given to users, roles and resources.
    Reserved(group="", resource="configmaps", prefix=COUNTERS, owner=f"restusers.{GROUP}", is_owner_namespaced=True),
)
