"""Maps the permissions of this API to RBAC: what a Kubernetes user may do with the kind of a type, they may do here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from homeostat.operators.actions.api import GROUP, RESOURCES, ResourceTypeSpec
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.web.kit.gate import Question, SystemPermission
from homeostat.web.kit.review_gate import Kinds

PluralOf = Callable[[str, str], str]
"""Returns the plural of a type's kind on the server, from the name and version of the type."""
_PERMISSIONS: Final[Mapping[SystemPermission, Question]] = {
    "view_plugins": Question(GROUP, "resourcetypes", "list"),
    "view_webhooks": Question(GROUP, "restwebhooks", "list"),
    "manage_types": Question(GROUP, "resourcetypes", "*"),
}


def usual_plural(type_name: str, type_version: str) -> str:
    return resource_kind(ResourceTypeSpec(name=type_name, version=type_version)).plural


def kinds_of_types(plural_of: PluralOf = usual_plural) -> Kinds:
    return Kinds(of_type=lambda name, version: (RESOURCES, plural_of(name, version)), permissions=_PERMISSIONS)
