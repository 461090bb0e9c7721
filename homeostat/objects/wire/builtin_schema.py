"""Schemas of the built-in kinds, built from the type table on first use and then shared.

Types refer to each other and to themselves (a CRD's schema is a schema), so the nodes form a graph. Only the
defaults that Kubernetes declares are included, not the zero values of Go structs.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from homeostat.objects.schema.schema import UNSET, Schema
from homeostat.objects.wire.type_table import BuiltinType, Field, flat_fields, kind_named, openapi_name, type_named

_STRING = Schema(type="string")
_ANY = Schema(preserve_unknown=True)
_LEAVES = {
    "string": _STRING,
    "bool": Schema(type="boolean"),
    "int32": Schema(type="integer", format="int32"),
    "int64": Schema(type="integer", format="int64"),
    "double": Schema(type="number", format="double"),
    "bytes": Schema(type="string", format="byte"),
    "time": Schema(type="string", format="date-time", name="io.k8s.apimachinery.pkg.apis.meta.v1.Time"),
    "microtime": Schema(type="string", format="date-time", name="io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"),
    "quantity": Schema(
        constraints={"oneOf": [{"type": "string"}, {"type": "number"}]},
        name="io.k8s.apimachinery.pkg.api.resource.Quantity",
    ),
    "intorstring": Schema(
        int_or_string=True, format="int-or-string", name="io.k8s.apimachinery.pkg.util.intstr.IntOrString"
    ),
    "raw": Schema(type="object", preserve_unknown=True, name="io.k8s.apimachinery.pkg.runtime.RawExtension"),
    "fields": Schema(type="object", preserve_unknown=True, name="io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"),
    "json": _ANY,
    "schemaorarray": _ANY,
    "schemaorbool": _ANY,
    "schemaorstrings": _ANY,
    "strings": Schema(type="array", items=_STRING),
}

_ZEROS = frozenset({"string", "bool", "int32", "int64", "double", "bytes", "strings"})
"""Leaves that have a zero; the others are structs and pointers in Go, which are never left out as empty."""
_KEPT = frozenset({"managedFields", "policies"})
"""An empty list of managers asks the server to forget them; empty policies of an autoscaler are refused."""

_types: dict[str, Schema] = {}
_fields: dict[tuple[Any, ...], Schema] = {}
_building = RLock()
"""A type is registered before its fields are built; another thread must not use it before it is complete."""


def builtin_schema(group: str, version: str, kind: str) -> Schema:
    """The schema of a built-in kind; `KeyError` for any other."""
    name = kind_named(group, version, kind)
    if name is None:
        raise KeyError(f"{group}/{version} {kind} is not a built-in kind")
    return type_schema(name)


def type_schema(name: str) -> Schema:
    """The schema of a type of the table, `core.v1.PodSpec`."""
    with _building:
        found = _types.get(name)
        return found if found is not None else _build(type_named(name))


def _build(builtin: BuiltinType) -> Schema:
    fields = flat_fields(builtin)
    schema = Schema(
        type="object",
        required=tuple(field.name for field in fields if field.is_required),
        map_type=cast('Literal["granular", "atomic", ""]', dict(builtin.facts).get("map", "")),
        omitted=frozenset(field.name for field in fields if _is_omitted(field)),
        name=openapi_name(builtin.name),
    )
    # Registered before its fields are built: a type may contain itself.
    _types[builtin.name] = schema
    if builtin.is_kind:
        schema.properties["apiVersion"] = schema.properties["kind"] = _STRING
    for field in fields:
        schema.properties[field.name] = _field_schema(field)
    return schema


def _is_omitted(field: Field) -> bool:
    return field.presence == "o" and (bool(field.shape) or field.type in _ZEROS) and field.name not in _KEPT


def _field_schema(field: Field) -> Schema:
    key = (field.shape, field.type, field.facts, field.presence if field.facts else "")
    found = _fields.get(key)
    if found is None:
        found = _fields[key] = _build_field(field)
    return found


def _build_field(field: Field) -> Schema:
    inner = _LEAVES[field.type] if field.is_leaf else type_schema(field.type)
    facts = dict(field.facts)
    patch_strategy = tuple(facts["patch"].split(",")) if "patch" in facts else ()
    if field.shape == "[]":
        return Schema(
            type="array",
            items=inner,
            list_type=cast('Literal["atomic", "set", "map", ""]', facts.get("list", "")),
            map_keys=tuple(facts["keys"].split(",")) if "keys" in facts else (),
            patch_strategy=patch_strategy,
            patch_merge_key=facts.get("merge", ""),
        )
    map_type = cast('Literal["granular", "atomic", ""]', facts.get("map", ""))
    if field.shape == "{}":
        return Schema(type="object", additional=inner, map_type=map_type, patch_strategy=patch_strategy)
    if not facts:
        return inner
    default = msgspec.json.decode(facts["default"]) if "default" in facts else UNSET
    if field.presence != "p" and not default:
        default = UNSET  # Go cannot tell it from an absent one
    return replace(inner, map_type=map_type or inner.map_type, patch_strategy=patch_strategy, default=default)
