"""The permissions of the operator in a cluster, as rules of a role. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule
from homeostat.operators.images.api import GROUP

RULES: Final[list[JsonObject]] = [
    rule("apps", ["deployments"], FOLLOW),
    rule(GROUP, ["imageupdates"], [*FOLLOW, "create", "patch", "delete"]),
    rule(GROUP, ["imageupdates/status"], ["patch"]),
    # Required by OwnerReferencesPermissionEnforcement, for owner references with blockOwnerDeletion.
    rule("apps", ["deployments/finalizers"], ["update"]),
    # Secrets that annotations name: keys of repositories, credentials of registries, tokens, webhooks.
    rule("", ["secrets"], ["get"]),
    rule("", ["events"], ["create", "patch"]),
]
