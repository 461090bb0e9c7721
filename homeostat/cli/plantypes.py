"""The types that a plan goes by: the server's, with what the files say of types in their place. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from homeostat.cli.failure import Failure
from homeostat.cli.plandeclared import FieldChange
from homeostat.cli.planned import Planned
from homeostat.cli.typeobjects import FoundType
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType, ResourceTypeSpec
from homeostat.operators.actions.definition import InvalidTypeError, definition_of
from homeostat.operators.actions.naming import resource_kind
from homeostat.operators.actions.offices import types_in_force
from homeostat.operators.actions.plugins.declared import differences


class PlannedTypes:
    def __init__(self, there: Iterable[ResourceType], declared: Iterable[ResourceType]) -> None:
        self._types = {_key(each): each for each in there}
        for each in declared:
            held = self._types.get(_key(each))
            self._types[_key(each)] = msgspec.structs.replace(held, spec=each.spec) if held is not None else each
        self._in_force = types_in_force(self._types.values())

    def of(self, obj: JsonObject) -> tuple[ResourceTypeSpec, ResourceTypeSpec]:
        """The one whose schema the resource is held to, and the one that its operator goes by."""
        kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
        found = self._types.get((kind, version))
        if found is None:
            known = ", ".join(sorted(f"{name} {each}" for name, each in self._types)) or "none"
            raise Failure(f"there is no resource type {kind} {version}; there are: {known}")
        return found.spec, self._in_force.get(kind, found.spec)


def declared_type(manifest: JsonObject) -> ResourceType:
    try:
        return msgspec.json.decode(msgspec.json.encode(manifest), type=ResourceType)
    except msgspec.ValidationError as error:
        raise Failure(f'the resource type "{manifest["metadata"]["name"]}": {error}') from error


def _key(each: ResourceType) -> tuple[str, str]:
    kind = resource_kind(each.spec)
    return kind.kind, kind.version


def planned_types(manifests: Iterable[JsonObject], there: Iterable[FoundType]) -> list[Planned]:
    """What would become of the types that the files declare."""
    live = {_key(each.type): each for each in there}
    return [_planned(each, live.get(_key(declared_type(each)))) for each in manifests]


def _planned(manifest: JsonObject, held: FoundType | None) -> Planned:
    spec = declared_type(manifest).spec
    planned = Planned(f"type {spec.name}/{spec.version}")
    try:
        definition_of([spec])
    except InvalidTypeError as error:
        return msgspec.structs.replace(planned, change="refused", error=str(error))
    if held is None:
        return msgspec.structs.replace(planned, change="create")
    found = differences(manifest["spec"], held.obj["spec"])
    fields = tuple(FieldChange(f"spec.{each.path}", each.found, each.declared) for each in found)
    return msgspec.structs.replace(planned, change="update" if fields else "unchanged", fields=fields)
