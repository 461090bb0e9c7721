"""Random structural schemas and values that have a fair chance to fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from([0.5, 1.0, 2.0, 1e17, 2**63, -(2**63) - 1, 1e30])
texts = st.sampled_from(["", "a", "ab", "abc", "5s", "2020-01-01", "é"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), numbers, texts)
values = st.recursive(
    scalars,
    lambda child: st.one_of(st.lists(child, max_size=3), st.dictionaries(names, child, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=3)
any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda child: st.one_of(st.lists(child, max_size=4), st.dictionaries(st.text(max_size=4), child, max_size=4)),
    max_leaves=12,
)

_SIZE = st.integers(0, 3)
_CONSTRAINTS: dict[str, st.SearchStrategy[Any]] = {
    "minimum": st.integers(-3, 3),
    "maximum": st.integers(-3, 3),
    "exclusiveMinimum": st.booleans(),
    "exclusiveMaximum": st.booleans(),
    "multipleOf": st.sampled_from([1, 2, 0.5, 0.1]),
    "minLength": _SIZE,
    "maxLength": _SIZE,
    "minItems": _SIZE,
    "maxItems": _SIZE,
    "minProperties": _SIZE,
    "maxProperties": _SIZE,
    "pattern": st.sampled_from(["^a", "b$", "(?i)^A"]),
    "format": st.sampled_from(["date", "duration", "int32", "byte"]),
    "enum": st.lists(scalars, min_size=1, max_size=3),
    "required": st.lists(names, max_size=2, unique=True),
}


@st.composite
def _constraints(draw: st.DrawFn) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(sorted(_CONSTRAINTS)), max_size=3, unique=True))
    return {word: draw(_CONSTRAINTS[word]) for word in chosen}


@st.composite
def _combined(draw: st.DrawFn, children: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    raw = draw(_constraints())
    for word in ("allOf", "anyOf", "oneOf"):
        if draw(st.integers(0, 4)) == 0:
            raw[word] = draw(st.lists(children, min_size=1, max_size=3))
    if draw(st.integers(0, 4)) == 0:
        raw["not"] = draw(children)
    if draw(st.integers(0, 3)) == 0:
        raw["properties"] = draw(st.dictionaries(names, children, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        raw["items"] = draw(children)
    return raw


_nested = st.recursive(_constraints(), _combined, max_leaves=4)
_KINDS = ["object", "array", "string", "integer", "number", "boolean", "any", "int-or-string"]


@st.composite
def _structural(draw: st.DrawFn, children: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    raw = draw(_nested)
    raw.pop("properties", None)
    raw.pop("items", None)
    kind = draw(st.sampled_from(_KINDS))
    match kind:
        case "any":
            raw["x-kubernetes-preserve-unknown-fields"] = True
        case "int-or-string":
            raw["x-kubernetes-int-or-string"] = True
        case _:
            raw["type"] = kind
    if draw(st.integers(0, 3)) == 0:
        raw["nullable"] = True
    if draw(st.integers(0, 3)) == 0:
        raw["default"] = draw(values)
    if kind == "object":
        raw.update(draw(_members(children)))
    if kind == "array":
        raw["items"] = draw(children)
        raw["x-kubernetes-list-type"] = draw(st.sampled_from(["atomic", "set"]))
    return raw


@st.composite
def _members(draw: st.DrawFn, children: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"additionalProperties": draw(children)}
    raw: dict[str, Any] = {"properties": draw(st.dictionaries(names, children, max_size=3))}
    if draw(st.integers(0, 6)) == 0:
        raw["x-kubernetes-embedded-resource"] = True
    return raw


schemas = st.recursive(st.just({"type": "string"}), _structural, max_leaves=6)
object_schemas = st.dictionaries(names, schemas, max_size=3).map(
    lambda members: {"type": "object", "properties": members}
)
