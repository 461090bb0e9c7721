"""Which types are in force for the resources of a kind. Pure.

A type is in force once the server has its definition, even if a newer generation of the type is not applied, and while
a deleted type waits for its last resources; it is not in force while the definition is being deleted. A resource that
names the version that it was declared with is reconciled by that type, any other by the newest one in Kubernetes' order
of versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homeostat.objects.conditions import READY, find
from homeostat.operators.actions.api import TYPE_VERSION, ResourceType, ResourceTypeSpec, ResourceTypeStatus
from homeostat.operators.actions.types.decide import DEFINING, REMOVING
from homeostat.operators.actions.types.definition import version_priority
from homeostat.operators.actions.types.naming import resource_kind, version_name

Versions = dict[str, ResourceTypeSpec]
"""The types of one kind by served version; never empty."""


def versions_in_force(types: Iterable[ResourceType]) -> dict[str, Versions]:
    """Returns types by kind and version; the oldest of several with the same version counts."""
    found: dict[str, Versions] = {}
    for each in sorted(types, key=_age):
        if _is_defined(each):
            kind = resource_kind(each.spec)
            found.setdefault(kind.kind, {}).setdefault(kind.version, each.spec)
    return found


def types_in_force(types: Iterable[ResourceType]) -> dict[str, ResourceTypeSpec]:
    """Returns the newest type of each kind."""
    return {kind: newest(versions) for kind, versions in versions_in_force(types).items()}


def newest(versions: Versions) -> ResourceTypeSpec:
    return versions[max(versions, key=version_priority)]


def kept_by(versions: Versions, labels: Mapping[str, str]) -> ResourceTypeSpec:
    """Returns the type that a resource with these labels is reconciled by."""
    declared = labels.get(TYPE_VERSION, "")
    return (versions.get(version_name(declared)) if declared else None) or newest(versions)


def _is_defined(each: ResourceType) -> bool:
    status = each.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    return bool(status.plural) and ready is not None and ready.reason not in (DEFINING, REMOVING)


def _age(each: ResourceType) -> tuple[str, str]:
    return each.metadata.creation_timestamp or "", each.metadata.name
