"""The types of a plan: those of the server, overridden by those in the files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from homeostat.cli.console.failure import Failure
from homeostat.cli.plan.declared import FieldChange
from homeostat.cli.plan.report import Planned
from homeostat.cli.resource.credentials import shown_value
from homeostat.cli.type.stored import FoundType
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType, ResourceTypeSpec
from homeostat.operators.actions.plugins.difference import Difference, differences
from homeostat.operators.actions.types.compatibility import incompatible_resources
from homeostat.operators.actions.types.definition import InvalidTypeError, definition_of
from homeostat.operators.actions.types.effective import kept_by, versions_in_force
from homeostat.operators.actions.types.naming import resource_kind


class PlannedTypes:
    def __init__(self, there: Iterable[ResourceType], declared: Iterable[ResourceType]) -> None:
        self._types = {_key(each): each for each in there}
        for each in declared:
            existing = self._types.get(_key(each))
            self._types[_key(each)] = replace(existing, spec=each.spec) if existing is not None else each
        self._in_force = versions_in_force(self._types.values())

    def of(self, obj: JsonObject) -> ResourceTypeSpec:
        """Returns the type whose schema the resource must match."""
        kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
        found = self._types.get((kind, version))
        if found is None:
            known = ", ".join(sorted(f"{name} {each}" for name, each in self._types))
            known = known or "none; to add one: homeostat type add -f FILE"
            raise Failure(f"there is no resource type {kind} {version}; there are: {known}")
        return found.spec

    def kept_by(self, stored: JsonObject) -> ResourceTypeSpec:
        """Returns the type that the operator would use."""
        versions = self._in_force.get(stored["kind"])
        return kept_by(versions, stored["metadata"].get("labels") or {}) if versions else self.of(stored)


def declared_type(manifest: JsonObject) -> ResourceType:
    try:
        return msgspec.json.decode(msgspec.json.encode(manifest), type=ResourceType)
    except msgspec.ValidationError as error:
        raise Failure(f'the resource type "{manifest["metadata"]["name"]}": {error}') from error


def planned_type(manifest: JsonObject, there: Iterable[FoundType], live: Sequence[JsonObject]) -> Planned:
    """Plans a type of the files; `live` are its resources."""
    spec = declared_type(manifest).spec
    planned = Planned(f"type {spec.name}/{spec.version}")
    try:
        definition = definition_of([spec])
    except InvalidTypeError as error:
        return replace(planned, change="refused", error=str(error))
    existing = next((each for each in there if _key(each.type) == _key(declared_type(manifest))), None)
    if existing is None:
        return replace(planned, change="create")
    fields = tuple(_field(each) for each in differences(manifest["spec"], existing.obj["spec"]))
    incompatible = [] if spec.is_forced else incompatible_resources(definition, live)
    if any(each.field.startswith("spec.schema") for each in fields) and incompatible:
        count = "1 live resource" if len(incompatible) == 1 else f"{len(incompatible)} live resources"
        message = f"{count} would not match the schema, first {incompatible[0]}; change them, or set isForced"
        return replace(planned, change="refused", fields=fields, error=message)
    return replace(planned, change="update" if fields else "unchanged", fields=fields)


def _field(each: Difference) -> FieldChange:
    found, declared = each.found, each.declared
    if each.path.startswith("action."):
        name = each.path.rpartition(".")[2]
        found, declared = shown_value(name, found), shown_value(name, declared)
    return FieldChange(f"spec.{each.path}", msgspec.UNSET if found is None else found, declared)


def _key(each: ResourceType) -> tuple[str, str]:
    kind = resource_kind(each.spec)
    return kind.kind, kind.version
