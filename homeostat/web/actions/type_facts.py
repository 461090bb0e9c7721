"""What a resource type says of itself, and whether the operator has put it in force. Pure."""

from __future__ import annotations

from homeostat.objects.conditions import READY, Condition, find
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import ResourceType, ResourceTypeStatus
from homeostat.operators.actions.types.decide import DEFINING
from homeostat.operators.actions.types.naming import kind_name, resource_kind, version_name


def kind_of(resource_type: ResourceType) -> Kind:
    return resource_kind(resource_type.spec)


def identity_of(resource_type: ResourceType) -> tuple[str, str]:
    """Two types of one identity cannot both be in force, however their names are written."""
    return kind_name(resource_type.spec.name), version_name(resource_type.spec.version)


def age_of(resource_type: ResourceType) -> tuple[str, str]:
    return resource_type.metadata.creation_timestamp or "", resource_type.metadata.name


def is_defined(resource_type: ResourceType) -> bool:
    """The server has a definition of its kind, though perhaps not by its newest form."""
    status = resource_type.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    return bool(status.plural) and ready is not None and ready.reason != DEFINING


def is_settled(resource_type: ResourceType) -> bool:
    """The operator has seen its newest form, and has put it in force."""
    ready = verdict_on(resource_type)
    return ready is not None and ready.status == "True"


def verdict_on(resource_type: ResourceType) -> Condition | None:
    """What the operator says of its newest form; None while it has not seen it."""
    status = resource_type.read_status(ResourceTypeStatus)
    if status.observed_generation < resource_type.metadata.generation:
        return None
    return find(status.conditions, READY)
