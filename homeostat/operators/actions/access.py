"""What the operator may do in a cluster, as rules of a role. Pure.

That it suffices, and that each right is used, is tested: the operator does all it can do on a server, as an account
that has these rights alone. Which kinds of resources there will be is for types to say, so all of their group are in
it, and so are all definitions: a role cannot name those of a group.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule
from homeostat.operators.actions.api import GROUP, RESOURCES

_DECLARED = ("resourcetypes", "resourceinputs")
RULES: Final[list[JsonObject]] = [
    # A finalizer is part of the object itself, and may not be set by who may not change it.
    rule(GROUP, _DECLARED, [*FOLLOW, "patch"]),
    rule(GROUP, [f"{each}/status" for each in _DECLARED], ["patch"]),
    rule(GROUP, ["reconciliations"], ["list", "create", "delete"]),
    rule(GROUP, ["runoutputs"], ["create", "patch"]),
    # Their status too; inputs make and delete them.
    rule(RESOURCES, ["*"], ["get", *FOLLOW, "create", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get", "create", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions/status"], ["patch"]),
    # Those that resources name, and the states that plugins keep.
    rule("", ["secrets"], ["get", "create", "patch", "delete"]),
    rule("", ["events"], ["create", "patch"]),
]
