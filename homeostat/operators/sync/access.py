"""The RBAC rules of the operator and of its pages: the permissions they need, and no others. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, READ, rule
from homeostat.operators.sync.api import record
from homeostat.operators.sync.api.parts import GROUP

_FINALIZED: Final = ("resourcerepositories", "managedservers", "secretstores", "syncpolicies")
_KINDS: Final = (*_FINALIZED, "repositorywebhooks")

RULES: Final[list[JsonObject]] = [
    # A finalizer is a field of the object, so setting it needs the permission to patch the object. A sync that ended
    # while its policy was changed reads the policy again, to write what came of it.
    rule(GROUP, _FINALIZED, [*READ, "patch"]),
    rule(GROUP, ["repositorywebhooks"], FOLLOW),
    rule(GROUP, [f"{each}/status" for each in _KINDS], ["patch"]),
    # Required by OwnerReferencesPermissionEnforcement, for owner references with blockOwnerDeletion.
    rule(GROUP, [f"{each}/finalizers" for each in _FINALIZED], ["update"]),
    rule(record.GROUP, ["syncrecords"], ["list", "create", "delete"]),
    # Metadata is watched; the Secrets that objects name are read.
    rule("", ["secrets"], READ),
    rule("", ["events"], ["create", "patch"]),
]
DASHBOARD_RULES: Final = (
    rule(GROUP, ["syncpolicies", "resourcerepositories", "managedservers"], FOLLOW),
    # Sync now, suspend, resume.
    rule(GROUP, ["syncpolicies"], ["patch"]),
)
