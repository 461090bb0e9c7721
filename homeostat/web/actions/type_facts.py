"""Facts about a resource type: its kind, its identity, and whether the operator has established it. Pure."""

from __future__ import annotations

from homeostat.objects.conditions import READY, Condition, find
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import ResourceType, ResourceTypeStatus
from homeostat.operators.actions.types.decide import DEFINING
from homeostat.operators.actions.types.naming import kind_of_type, resource_kind, version_name


def kind_of(resource_type: ResourceType) -> Kind:
    return resource_kind(resource_type.spec)


def identity_of(resource_type: ResourceType) -> tuple[str, str]:
    """Two types with the same identity cannot both be in force."""
    return kind_of_type(resource_type.spec), version_name(resource_type.spec.version)


def age_of(resource_type: ResourceType) -> tuple[str, str]:
    return resource_type.metadata.creation_timestamp or "", resource_type.metadata.name


def is_defined(resource_type: ResourceType) -> bool:
    """The server has a definition of its kind, perhaps of an older generation of the type."""
    status = resource_type.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    return bool(status.plural) and ready is not None and ready.reason != DEFINING


def is_settled(resource_type: ResourceType) -> bool:
    """The newest generation of the type is established."""
    ready = verdict_on(resource_type)
    return ready is not None and ready.status == "True"


def verdict_on(resource_type: ResourceType) -> Condition | None:
    """The Ready condition for the newest generation; None if the operator has not observed it yet."""
    status = resource_type.read_status(ResourceTypeStatus)
    if status.observed_generation < resource_type.metadata.generation:
        return None
    return find(status.conditions, READY)
