"""Lists that are sets or maps (`x-kubernetes-list-type`): no item, or no key, may occur twice.

JSON Schema has no unique keys, so they are checked here, by a plan that holds only the paths to such lists; a schema
without them has no plan.
"""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, duplicate, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import Schema


class ListPlan:
    """The paths to the sets and maps below a node. It follows members of a schema without cycles of unnamed nodes."""

    __slots__ = ("additional", "items", "keys", "members")

    def __init__(self) -> None:
        self.keys: tuple[str, ...] | None = None
        """None: any list; empty: a set; otherwise a map's keys."""
        self.members: dict[str, ListPlan] = {}
        self.additional: ListPlan | None = None
        self.items: ListPlan | None = None

    def duplicates(self, value: Json, path: str = "") -> list[Cause]:
        if value.__class__ is dict:
            return self._in_object(value, path)
        if value.__class__ is list:
            return self._in_list(value, path)
        return []

    def _in_object(self, value: JsonObject, path: str) -> list[Cause]:
        causes: list[Cause] = []
        for name, member in self.members.items():
            child = value.get(name)
            if child.__class__ is dict or child.__class__ is list:
                causes += member.duplicates(child, f"{path}.{name}" if path else name)
        if self.additional is not None:
            for name, child in value.items():
                if name not in self.members:
                    causes += self.additional.duplicates(child, f"{path}[{name}]")
        return causes

    def _in_list(self, values: list[Json], path: str) -> list[Cause]:
        causes: list[Cause] = []
        if self.keys is not None and len(values) > 1:
            causes += _repeated(values, path) if not self.keys else _repeated_keys(values, self.keys, path)
        if self.items is not None:
            for at, each in enumerate(values):
                causes += self.items.duplicates(each, f"{path}[{at}]")
                if are_enough(causes):
                    break
        return causes


def list_plan(schema: Schema) -> ListPlan | None:
    return _plan_of(schema, {})


def _plan_of(schema: Schema, seen: dict[int, ListPlan | None]) -> ListPlan | None:
    if id(schema) in seen:
        return seen[id(schema)]
    seen[id(schema)] = None
    plan = ListPlan()
    if schema.list_type == "set":
        plan.keys = ()
    elif schema.list_type == "map" and schema.map_keys:
        plan.keys = schema.map_keys
    for name, member in schema.properties.items():
        if below := _plan_of(member, seen):
            plan.members[name] = below
    plan.additional = _plan_of(schema.additional, seen) if schema.additional is not None else None
    plan.items = _plan_of(schema.items, seen) if schema.items is not None else None
    found = plan.keys is not None or plan.members or plan.additional or plan.items
    seen[id(schema)] = plan if found else None
    return seen[id(schema)]


def _repeated(values: list[Json], path: str) -> list[Cause]:
    try:
        if len(set(values)) == len(values):
            return []
    except TypeError:
        pass
    return [duplicate(f"{path}[{at}]", values[at]) for at in _second_times([identity(each) for each in values])]


def _repeated_keys(values: list[Json], keys: tuple[str, ...], path: str) -> list[Cause]:
    for at, each in enumerate(values):
        if each is not None and each.__class__ is not dict:
            return [invalid(f"{path}[{at}]", each, "must be an object for an array of list-type map")]
    try:
        if len({tuple([each.get(key) for key in keys]) for each in values}) == len(values):
            return []
    except (TypeError, AttributeError):
        pass
    found = [{key: each[key] for key in keys if key in each} if each else {} for each in values]
    return [duplicate(f"{path}[{at}]", found[at]) for at in _second_times([identity(each) for each in found])]


def _second_times(marks: list[Json]) -> list[int]:
    """The indexes at which a value occurs for the second time; further ones are not reported, as in Kubernetes."""
    times: dict[Json, int] = {}
    found = []
    for at, mark in enumerate(marks):
        times[mark] = times.get(mark, 0) + 1
        if times[mark] == 2:
            found.append(at)
            if are_enough(found):
                break
    return found


def identity(value: Json) -> Json:
    """A hashable value that is equal for equal JSON and for nothing else: `true` is not 1."""
    if value.__class__ is dict:
        return ("object", frozenset((key, identity(each)) for key, each in value.items()))
    if value.__class__ is list:
        return ("array", tuple([identity(each) for each in value]))
    if value.__class__ is bool:
        return ("boolean", value)
    return value
