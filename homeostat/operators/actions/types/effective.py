"""Which types count for the resources of a kind. Pure.

A type counts once the server has its definition, also where a newer form of it is not in force and where it only waits
for its last resources to go, and not while the definition is being removed. A resource that says which version it was
declared by is kept as that one says; any other as the newest does, by Kubernetes' order of versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homeostat.objects.conditions import READY, find
from homeostat.operators.actions.api import TYPE_VERSION, ResourceType, ResourceTypeSpec, ResourceTypeStatus
from homeostat.operators.actions.types.decide import DEFINING, REMOVING
from homeostat.operators.actions.types.definition import version_priority
from homeostat.operators.actions.types.naming import resource_kind, version_name

Versions = dict[str, ResourceTypeSpec]
"""Of one kind, by the names that the server knows them by; never empty."""


def versions_in_force(types: Iterable[ResourceType]) -> dict[str, Versions]:
    """By kind. Of several types of one version the oldest counts."""
    found: dict[str, Versions] = {}
    for each in sorted(types, key=_age):
        if _is_defined(each):
            kind = resource_kind(each.spec)
            found.setdefault(kind.kind, {}).setdefault(kind.version, each.spec)
    return found


def types_in_force(types: Iterable[ResourceType]) -> dict[str, ResourceTypeSpec]:
    """By kind, the newest."""
    return {kind: newest(versions) for kind, versions in versions_in_force(types).items()}


def newest(versions: Versions) -> ResourceTypeSpec:
    return versions[max(versions, key=version_priority)]


def kept_by(versions: Versions, labels: Mapping[str, str]) -> ResourceTypeSpec:
    """What a resource with these labels is kept as."""
    told = labels.get(TYPE_VERSION, "")
    return (versions.get(version_name(told)) if told else None) or newest(versions)


def _is_defined(each: ResourceType) -> bool:
    status = each.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    return bool(status.plural) and ready is not None and ready.reason not in (DEFINING, REMOVING)


def _age(each: ResourceType) -> tuple[str, str]:
    return each.metadata.creation_timestamp or "", each.metadata.name
