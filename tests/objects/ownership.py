"""A kind with every way to divide into fields, and steps that managers take on an object of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from homeostat.objects.apply.apply import apply
from homeostat.objects.apply.field_set import FieldSet, path_text, paths
from homeostat.objects.apply.managed import update_managed
from homeostat.objects.schema.schema import Schema
from homeostat.objects.yaml.reader import load

Json = Any

_TEXT = Schema(type="string")
_NUMBER = Schema(type="integer")
_SET = Schema(type="array", list_type="set", items=_TEXT)
_STRUCT = Schema(type="object", properties={"a": _TEXT, "b": _NUMBER})
_ITEM = Schema(
    type="object",
    properties={
        "name": _TEXT,
        "port": Schema(type="integer", default=80),
        "value": _TEXT,
        "set": _SET,
        "inner": _STRUCT,
    },
)
_LIST = Schema(type="array", list_type="map", map_keys=("name",), items=_ITEM)
_STRUCT.properties.update(inner=_STRUCT, list=_LIST)
_NESTED = Schema(type="object")
_NESTED.additional = _NESTED

KIND = Schema(
    type="object",
    properties={
        "num": _NUMBER,
        "text": _TEXT,
        "flag": Schema(type="boolean"),
        "map": Schema(type="object", additional=_TEXT),
        "maps": Schema(type="object", additional=Schema(type="object", additional=_TEXT)),
        "nested": _NESTED,
        "struct": _STRUCT,
        "list": _LIST,
        "ports": Schema(type="array", list_type="map", map_keys=("port", "name"), items=_ITEM),
        "set": _SET,
        "atomicList": Schema(type="array", items=_TEXT),
        "atomicMap": Schema(type="object", map_type="atomic", additional=_TEXT),
        "atomicItems": Schema(
            type="array",
            list_type="map",
            map_keys=("name",),
            items=Schema(type="object", map_type="atomic", properties={"name": _TEXT, "value": _TEXT}),
        ),
        "any": Schema(preserve_unknown=True),
    },
)


@dataclass(frozen=True)
class Apply:
    manager: str
    text: str
    force: bool = False


@dataclass(frozen=True)
class Update:
    manager: str
    text: str


Step = Apply | Update


def value_of(text: str) -> Json:
    """`list: [{name: a}], num: 1` as an object."""
    return load(f"{{{text}}}".encode())


def take(live: Json | None, step: Step, *, now: str = "2024-01-01T00:00:00Z") -> Json:
    value = value_of(step.text)
    if isinstance(step, Apply):
        return apply(live, value, KIND, manager=step.manager, force=step.force, api_version="v1", now=now)
    entries = update_managed(live, value, KIND, manager=step.manager, api_version="v1", now=now)
    return {**value, "metadata": {"managedFields": entries}}


def take_all(*steps: Step) -> Json:
    live = None
    for step in steps:
        live = take(live, step)
    return live


def content(live: Json) -> Json:
    return {name: item for name, item in live.items() if name != "metadata"}


def entries_of(live: Json) -> list[Json]:
    found: list[Json] = live.get("metadata", {}).get("managedFields", [])
    return found


def owned(fields: FieldSet) -> set[str]:
    return {path_text(path) for path in paths(fields)}


def owners(live: Json) -> dict[str, set[str]]:
    return {entry["manager"]: owned(entry["fieldsV1"]) for entry in entries_of(live)}
