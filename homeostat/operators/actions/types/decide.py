"""Decides what to do with the CustomResourceDefinition of a resource type. Pure.

Promises, each tested: a schema that live resources do not match is applied only with `isForced`, and the status names
them; of two types with the same name and version the older one counts; a type in use is not deleted, and its definition
is deleted with its last version. A storage version is removed only after all resources were migrated to another version
that they match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, RECONCILING, Condition, find
from homeostat.objects.decision import Decision, Notice, Stalled, Wait
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType, ResourceTypeSpec, ResourceTypeStatus
from homeostat.operators.actions.plugins.difference import differences
from homeostat.operators.actions.types.compatibility import IncompatibleResource
from homeostat.operators.actions.types.definition import InvalidTypeError, definition_of
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.types.versions import kept_versions, stored_versions_kept

DEFINING: Final = "Defining"
"""A reason: the server does not have the definition of the type yet."""
REMOVING: Final = "Removing"
"""A reason: the definition of the type is being deleted, and its controller stops. It has no resources."""
_UNTIL_NOTICED: Final = timedelta(seconds=0.2)
_REDEFINING: Final = "Redefining"
"""A reason: the definition is being changed. Resources are reconciled meanwhile."""
_CHECK_AGAIN: Final = timedelta(seconds=60)
_MOST_LISTED: Final = 100
MOST_NAMED: Final = 5
"""How many resources a message names."""


class PutDefinition(msgspec.Struct, frozen=True):
    definition: JsonObject


class RemoveDefinition(msgspec.Struct, frozen=True):
    name: str


class Migrate(msgspec.Struct, frozen=True):
    """Store all resources in the storage version of the definition, which is given as it was found."""

    definition: JsonObject


TypeAction = PutDefinition | RemoveDefinition | Migrate


class TypeWorld(msgspec.Struct, frozen=True, kw_only=True):
    """`others` are all other resource types of the same kind; `found` is the definition on the server.

    `users` are the live resources, by namespace and name, and `incompatible` those that the wanted definition would
    refuse; both are observed only if the definition has to change or to be deleted. `is_settled`: all replicas of the
    server have had time to see the current definition.
    """

    others: tuple[ResourceType, ...] = ()
    found: JsonObject | None = None
    users: tuple[str, ...] = ()
    incompatible: tuple[IncompatibleResource, ...] = ()
    is_settled: bool = True


def decide_type(resource_type: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
    if resource_type.is_terminating:
        return _decide_deletion(resource_type, world)
    if (older := _older(resource_type, world.others)) is not None:
        message = f'the older resource type "{older}" has the same name and version'
        raise Stalled("Duplicate", message=message)
    try:
        wanted = wanted_definition(resource_type, world.others, world.found)
    except InvalidTypeError as error:
        raise Stalled(error.reason, message=str(error)) from error
    plural = wanted["spec"]["names"]["plural"]
    if is_in_force(wanted, world.found):
        return _settled(plural, world.found or {})
    if world.incompatible and not resource_type.spec.is_forced:
        return _incompatible(world.incompatible)
    reason = _REDEFINING if _has_version(resource_type, world.found) else DEFINING
    progress = Condition(READY, "Unknown", reason, "Applying the definition")
    return Decision((PutDefinition(wanted),), (progress,), status={"plural": plural, "incompatibleResources": None})


def wanted_definition(
    resource_type: ResourceType, others: Iterable[ResourceType], found: JsonObject | None = None
) -> JsonObject:
    """Includes the versions of other types. The found version of an invalid type, or of one that is being deleted,
    stays: an invalid type keeps its resources, and the deleted type migrates what is stored in its version.
    """
    others = list(others)
    return kept_versions(definition_of([resource_type.spec, *_sound(resource_type, others)]), others, found)


def remaining_definition(
    resource_type: ResourceType, others: Iterable[ResourceType], found: JsonObject | None
) -> JsonObject | None:
    """Returns the definition without the type; None if it is the last type of its kind."""
    others = [each for each in others if not each.is_terminating]
    rest = _sound(resource_type, others)
    return kept_versions(definition_of(rest), others, found) if rest else None


def in_use_message(names: Sequence[str], count: int) -> str:
    """`names` are some of `count` resources."""
    return f"{count} {'resource has' if count == 1 else 'resources have'} this type: {_first(names, count)}"


def incompatible_message(resources: Sequence[str], count: int) -> str:
    who = "live resource does" if count == 1 else "live resources do"
    return f"{count} {who} not match the schema: {_first(resources, count)}; change them, or set isForced"


def _first(names: Sequence[str], count: int) -> str:
    shown = names[:MOST_NAMED]
    return f"{', '.join(shown)} and {count - len(shown)} more" if count > len(shown) else ", ".join(shown)


def same_version(resource_type: ResourceType, others: Iterable[ResourceType]) -> list[ResourceType]:
    """Types of the same kind and version that are not being deleted."""
    own = resource_kind(resource_type.spec).version
    return [each for each in others if resource_kind(each.spec).version == own and not each.is_terminating]


def is_in_force(wanted: JsonObject, found: JsonObject | None) -> bool:
    return found is not None and not any(differences(_ordered(wanted["spec"]), _ordered(found.get("spec") or {})))


def _ordered(spec: JsonObject) -> JsonObject:
    """The order of versions does not matter."""
    return {**spec, "versions": sorted(spec.get("versions") or [], key=lambda each: str(each.get("name")))}


def _decide_deletion(resource_type: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
    if world.found is None or same_version(resource_type, world.others):
        return Decision()
    left = remaining_definition(resource_type, world.others, world.found)
    if left is not None:
        return _narrow(resource_type, left, world, world.found)
    if world.users:
        raise Wait("InUse", timedelta(seconds=10), message=in_use_message(world.users, len(world.users)))
    return _remove(resource_type, world.found["metadata"])


def _remove(resource_type: ResourceType, found: JsonObject) -> Decision[TypeAction]:
    """Reports the deletion in the status first, so that controllers and watches of the resources can stop in time."""
    ready = find(resource_type.read_status(ResourceTypeStatus).conditions, READY)
    if ready is None or ready.reason != REMOVING or "deletionTimestamp" in found:
        raise Wait(REMOVING, _UNTIL_NOTICED, message="Deleting the definition")
    return Decision((RemoveDefinition(found["name"]),))


def _has_version(resource_type: ResourceType, found: JsonObject | None) -> bool:
    own = resource_kind(resource_type.spec).version
    return found is not None and any(each["name"] == own for each in found["spec"]["versions"])


def _narrow(resource_type: ResourceType, left: JsonObject, world: TypeWorld, found: JsonObject) -> Decision[TypeAction]:
    """Each step shows in the definition itself, so after a crash the next step follows."""
    wide = stored_versions_kept(left, found)
    if wide == left:
        return Decision(() if is_in_force(left, found) else (PutDefinition(left),))
    if world.incompatible and not resource_type.spec.is_forced:
        names = [str(each) for each in world.incompatible[:MOST_NAMED]]
        raise Wait("Incompatible", timedelta(seconds=10), message=incompatible_message(names, len(world.incompatible)))
    if not is_in_force(wide, found):
        return Decision((PutDefinition(wide),))
    if not world.is_settled:
        raise Wait("Migrating", timedelta(seconds=1), message="Migrating resources to another storage version")
    return Decision((Migrate(found),))


def _settled(plural: str, found: JsonObject) -> Decision[TypeAction]:
    conditions = (found.get("status") or {}).get("conditions") or []
    stands = {(each.get("type"), each.get("status")): each for each in conditions}
    # A cluster also reports Established=False for a moment before the definition is established.
    refused = stands.get(("NamesAccepted", "False"))
    status: JsonObject = {"plural": plural, "incompatibleResources": None}
    if refused is not None:
        ready = Condition(
            READY, "False", refused.get("reason") or "Refused", refused.get("message") or "Names not accepted"
        )
        return Decision(conditions=(ready,), status=status, requeue_after=_CHECK_AGAIN)
    if ("Established", "True") not in stands:
        ready = Condition(READY, "Unknown", DEFINING, "Waiting for the server to establish the definition")
        return Decision(conditions=(ready,), status=status, requeue_after=timedelta(seconds=1))
    return Decision(conditions=(Condition(READY, "True", "Defined", f"Defined as {plural}"),), status=status)


def _incompatible(resources: Sequence[IncompatibleResource]) -> Decision[TypeAction]:
    names = [str(each) for each in resources[:_MOST_LISTED]]
    message = incompatible_message(names, len(resources))
    return Decision(
        conditions=(
            Condition(READY, "False", "Incompatible", message),
            Condition(RECONCILING, "False", "Incompatible", message),
        ),
        status={"incompatibleResources": names},
        requeue_after=_CHECK_AGAIN,
        notices=(Notice("Warning", "Incompatible", message),),
    )


def _sound(resource_type: ResourceType, others: Iterable[ResourceType]) -> list[ResourceTypeSpec]:
    """The valid types of the other versions, the oldest of each."""
    chosen: dict[str, ResourceType] = {}
    own = resource_kind(resource_type.spec).version
    for each in sorted(others, key=_age):
        version = resource_kind(each.spec).version
        if version != own and not each.is_terminating and _is_sound(each.spec):
            chosen.setdefault(version, each)
    return [each.spec for each in chosen.values()]


def _is_sound(spec: ResourceTypeSpec) -> bool:
    try:
        definition_of([spec])
    except InvalidTypeError:
        return False
    return True


def _older(resource_type: ResourceType, others: Iterable[ResourceType]) -> str | None:
    before = [each for each in same_version(resource_type, others) if _age(each) < _age(resource_type)]
    return min(before, key=_age).metadata.name if before else None


def _age(resource_type: ResourceType) -> tuple[str, str]:
    return (resource_type.metadata.creation_timestamp or "", resource_type.metadata.name)
