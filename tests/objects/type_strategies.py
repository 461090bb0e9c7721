"""Random struct types, values of them, and the ways to write a value with some of its fields left out."""

from __future__ import annotations

import copy
from functools import partial as bound
from types import GenericAlias
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject
from tests.objects.custom_kinds import Mood

texts = st.sampled_from(["", "a", "b"])
numbers = st.integers(-2, 2)
plain = st.one_of(texts, numbers, st.booleans())

Drawn = tuple[Any, st.SearchStrategy[Any]]
"""A type, and values of it."""

_leaves: st.SearchStrategy[Drawn] = st.sampled_from(
    [
        (str, texts),
        (int, numbers),
        (bool, st.booleans()),
        (float, st.sampled_from([0.5, 2.25])),
        (Literal["a", "b"], st.sampled_from(["a", "b"])),
        (Mood, st.sampled_from(list(Mood))),
        (int | str, st.one_of(numbers, texts)),
        (Any, st.one_of(plain, st.lists(plain, max_size=2))),
        (frozenset[str], st.frozensets(texts)),
    ]
)


@st.composite
def _containers(draw: st.DrawFn, inner: st.SearchStrategy[Drawn]) -> Drawn:
    kind, values = draw(inner)
    match draw(st.sampled_from(["list", "tuple", "map", "struct"])):
        case "list":
            return GenericAlias(list, (kind,)), st.lists(values, max_size=2)
        case "tuple":
            return GenericAlias(tuple, (kind, ...)), st.lists(values, max_size=2).map(tuple)
        case "map":
            return GenericAlias(dict, (str, kind)), st.dictionaries(texts, values, max_size=2)
    return draw(_structs(inner))


@st.composite
def _structs(draw: st.DrawFn, inner: st.SearchStrategy[Drawn]) -> Drawn:
    fields: list[Any] = []
    members: list[st.SearchStrategy[Any]] = []
    for at in range(draw(st.integers(0, 4))):
        kind, values = draw(inner)
        name = f"field_{at}"
        match draw(st.sampled_from(["required", "default", "default", "none", "unset"])):
            case "required":
                fields.append((name, kind))
                members.append(values)
            case "default":
                fields.append((name, kind, msgspec.field(default_factory=bound(copy.deepcopy, draw(values)))))
                members.append(values)
            case "none":
                fields.append((name, kind | None if kind is not Any else Any, None))
                members.append(st.one_of(st.none(), values))
            case "unset":
                fields.append((name, kind | msgspec.UnsetType, msgspec.UNSET))
                members.append(st.one_of(st.just(msgspec.UNSET), values))
    struct = msgspec.defstruct("Made", fields, kw_only=True, rename="camel")
    names = [each[0] for each in fields]
    return struct, st.tuples(*members).map(lambda given: struct(**dict(zip(names, given, strict=True))))


types = st.recursive(_leaves, _containers, max_leaves=6)
structs = _structs(types)


@st.composite
def partial(draw: st.DrawFn, value: Any, schema: JsonObject) -> Any:
    """A value without its nulls, and without some of what it need not say."""
    if isinstance(value, list):
        return [draw(partial(each, schema.get("items", {}))) for each in value]
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    kept = {}
    for key, each in value.items():
        if each is None or (key in properties and key not in required and draw(st.booleans())):
            continue
        kept[key] = draw(partial(each, properties.get(key) or schema.get("additionalProperties", {})))
    return kept
