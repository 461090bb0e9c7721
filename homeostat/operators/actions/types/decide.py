"""A resource type and its definition on the server: what is to be done to the one for the sake of the other. Pure.

Promises, each tested: a schema that live resources do not fit is not put in force unless the type says so, and they
are named; of two types with one name and version the older counts; a type in use is not let go, and its definition
goes with the last version of it. A version that resources were stored in goes when they are stored in another, and
only one that they fit.
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
"""Why a type is not ready whose definition the server does not have yet."""
REMOVING: Final = "Removing"
"""Why a type is not ready whose definition goes: its resources, of which there are none, are not looked after."""
_UNTIL_HEARD: Final = timedelta(seconds=0.2)
_REDEFINING: Final = "Redefining"
"""The server has a definition, and its resources are looked after; it gets another one."""
_LOOK_AGAIN: Final = timedelta(seconds=60)
_MOST_NAMED: Final = 100
MOST_TOLD: Final = 5
"""Resources that a message names."""


class PutDefinition(msgspec.Struct, frozen=True):
    definition: JsonObject


class RemoveDefinition(msgspec.Struct, frozen=True):
    name: str


class Migrate(msgspec.Struct, frozen=True):
    """Store all resources in the version that the definition stores; it is given as it was found."""

    definition: JsonObject


TypeAction = PutDefinition | RemoveDefinition | Migrate


class TypeWorld(msgspec.Struct, frozen=True, kw_only=True):
    """`others` are all other resource types of the same kind; `found` is the definition that is there.

    `users` are the resources that are there, by namespace and name, and `misfits` those that the definition that is
    wanted would not let in. They count only where the definition is to change or to go. `is_settled` says that the
    definition has been there as it is for long enough to be known to all replicas of a server.
    """

    others: tuple[ResourceType, ...] = ()
    found: JsonObject | None = None
    users: tuple[str, ...] = ()
    misfits: tuple[IncompatibleResource, ...] = ()
    is_settled: bool = True


def decide_type(resource_type: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
    if resource_type.is_terminating:
        return _let_go(resource_type, world)
    if (older := _older(resource_type, world.others)) is not None:
        told = f'the older resource type "{older}" has the same name and version'
        raise Stalled("Duplicate", message=told)
    try:
        wanted = wanted_definition(resource_type, world.others, world.found)
    except InvalidTypeError as error:
        raise Stalled(error.reason, message=str(error)) from error
    plural = wanted["spec"]["names"]["plural"]
    if is_in_force(wanted, world.found):
        return _settled(plural, world.found or {})
    if world.misfits and not resource_type.spec.is_forced:
        return _incompatible(world.misfits)
    reason = _REDEFINING if _has_version(resource_type, world.found) else DEFINING
    progress = Condition(READY, "Unknown", reason, "Applying the definition")
    return Decision((PutDefinition(wanted),), (progress,), status={"plural": plural, "misfits": None})


def wanted_definition(
    resource_type: ResourceType, others: Iterable[ResourceType], found: JsonObject | None = None
) -> JsonObject:
    """With the versions that other types add. Of those that are wrong, or going, what was found of them stays: what is
    wrong now keeps its resources, and what was stored once is for the type that goes to move.
    """
    others = list(others)
    return kept_versions(definition_of([resource_type.spec, *_sound(resource_type, others)]), others, found)


def left_definition(
    resource_type: ResourceType, others: Iterable[ResourceType], found: JsonObject | None
) -> JsonObject | None:
    """What is to be there when the type is gone; None where it is the last of its kind."""
    others = [each for each in others if not each.is_terminating]
    rest = _sound(resource_type, others)
    return kept_versions(definition_of(rest), others, found) if rest else None


def told_in_use(names: Sequence[str], count: int) -> str:
    """`names` are some of so many."""
    return f"{count} {'resource has' if count == 1 else 'resources have'} this type: {_first(names, count)}"


def told_misfits(misfits: Sequence[str], count: int) -> str:
    who = "live resource does" if count == 1 else "live resources do"
    return f"{count} {who} not match the schema: {_first(misfits, count)}; change them, or set isForced"


def _first(names: Sequence[str], count: int) -> str:
    shown = names[:MOST_TOLD]
    return f"{', '.join(shown)} and {count - len(shown)} more" if count > len(shown) else ", ".join(shown)


def same_version(resource_type: ResourceType, others: Iterable[ResourceType]) -> list[ResourceType]:
    """Those of the same kind that are to stay."""
    own = resource_kind(resource_type.spec).version
    return [each for each in others if resource_kind(each.spec).version == own and not each.is_terminating]


def is_in_force(wanted: JsonObject, found: JsonObject | None) -> bool:
    return found is not None and not any(differences(_ordered(wanted["spec"]), _ordered(found.get("spec") or {})))


def _ordered(spec: JsonObject) -> JsonObject:
    """Versions in whichever order are the same."""
    return {**spec, "versions": sorted(spec.get("versions") or [], key=lambda each: str(each.get("name")))}


def _let_go(resource_type: ResourceType, world: TypeWorld) -> Decision[TypeAction]:
    if world.found is None or same_version(resource_type, world.others):
        return Decision()
    left = left_definition(resource_type, world.others, world.found)
    if left is not None:
        return _narrow(resource_type, left, world, world.found)
    if world.users:
        raise Wait("InUse", timedelta(seconds=10), message=told_in_use(world.users, len(world.users)))
    return _remove(resource_type, world.found["metadata"])


def _remove(resource_type: ResourceType, found: JsonObject) -> Decision[TypeAction]:
    """First it is said, so that whoever follows the resources stops before there is nothing to follow any more."""
    ready = find(resource_type.read_status(ResourceTypeStatus).conditions, READY)
    if ready is None or ready.reason != REMOVING or "deletionTimestamp" in found:
        raise Wait(REMOVING, _UNTIL_HEARD, message="Deleting the definition")
    return Decision((RemoveDefinition(found["name"]),))


def _has_version(resource_type: ResourceType, found: JsonObject | None) -> bool:
    own = resource_kind(resource_type.spec).version
    return found is not None and any(each["name"] == own for each in found["spec"]["versions"])


def _narrow(resource_type: ResourceType, left: JsonObject, world: TypeWorld, found: JsonObject) -> Decision[TypeAction]:
    """Each step is seen in the definition itself, so whoever comes after a crash goes on with the next."""
    wide = stored_versions_kept(left, found)
    if wide == left:
        return Decision(() if is_in_force(left, found) else (PutDefinition(left),))
    if world.misfits and not resource_type.spec.is_forced:
        names = [str(each) for each in world.misfits[:MOST_TOLD]]
        raise Wait("Incompatible", timedelta(seconds=10), message=told_misfits(names, len(world.misfits)))
    if not is_in_force(wide, found):
        return Decision((PutDefinition(wide),))
    if not world.is_settled:
        raise Wait("Migrating", timedelta(seconds=1), message="Migrating resources to another storage version")
    return Decision((Migrate(found),))


def _settled(plural: str, found: JsonObject) -> Decision[TypeAction]:
    conditions = (found.get("status") or {}).get("conditions") or []
    stands = {(each.get("type"), each.get("status")): each for each in conditions}
    # A cluster also says Established=False in the moments before it is.
    refused = stands.get(("NamesAccepted", "False"))
    status: JsonObject = {"plural": plural, "misfits": None}
    if refused is not None:
        ready = Condition(
            READY, "False", refused.get("reason") or "Refused", refused.get("message") or "Names not accepted"
        )
        return Decision(conditions=(ready,), status=status, requeue_after=_LOOK_AGAIN)
    if ("Established", "True") not in stands:
        ready = Condition(READY, "Unknown", DEFINING, "Waiting for the server to establish the definition")
        return Decision(conditions=(ready,), status=status, requeue_after=timedelta(seconds=1))
    return Decision(conditions=(Condition(READY, "True", "Defined", f"Defined as {plural}"),), status=status)


def _incompatible(misfits: Sequence[IncompatibleResource]) -> Decision[TypeAction]:
    names = [str(each) for each in misfits[:_MOST_NAMED]]
    told = told_misfits(names, len(misfits))
    return Decision(
        conditions=(
            Condition(READY, "False", "Incompatible", told),
            Condition(RECONCILING, "False", "Incompatible", told),
        ),
        status={"misfits": names},
        requeue_after=_LOOK_AGAIN,
        notices=(Notice("Warning", "Incompatible", told),),
    )


def _sound(resource_type: ResourceType, others: Iterable[ResourceType]) -> list[ResourceTypeSpec]:
    """The other versions, each by the type that counts for it."""
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
