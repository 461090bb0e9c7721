"""The `components` of an OpenAPI document: built-in types from the type table, custom kinds from their definitions.

They have everything that kubectl reads: `x-kubernetes-group-version-kind`, list types, merge keys, defaults. A field
that Go always encodes has a default of zero, as in Kubernetes' own documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.wire.type_table import Field, flat_fields, group_version, kind_named, openapi_name, type_named
from homeostat.server.discovery.descriptions import describe_field, describe_type
from homeostat.server.kinds.registry import Kind

Schemas = dict[str, JsonObject]

GVK = "x-kubernetes-group-version-kind"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SCALARS: dict[str, tuple[JsonObject, Any]] = {
    "string": ({"type": "string"}, ""),
    "bool": ({"type": "boolean"}, False),
    "int32": ({"type": "integer", "format": "int32"}, 0),
    "int64": ({"type": "integer", "format": "int64"}, 0),
    "double": ({"type": "number", "format": "double"}, 0),
    "bytes": ({"type": "string", "format": "byte"}, None),
    "strings": ({"type": "array", "items": {"type": "string", "default": ""}}, None),
}
_NAMED_LEAVES: dict[str, tuple[str, JsonObject]] = {
    "time": (f"{_META}.Time", {"type": "string", "format": "date-time", "description": "A time in RFC 3339 form."}),
    "microtime": (
        f"{_META}.MicroTime",
        {"type": "string", "format": "date-time", "description": "A time with microseconds."},
    ),
    "fields": (f"{_META}.FieldsV1", {"type": "object", "description": "A set of fields, as a tree of their names."}),
    "raw": (
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        {"type": "object", "description": "An object of any kind."},
    ),
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}], "description": "An amount, such as 500m, 1.5 or 2Gi."},
    ),
    "intorstring": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {
            "oneOf": [{"type": "integer"}, {"type": "string"}],
            "format": "int-or-string",
            "description": "A number, or a text such as a percentage or the name of a port.",
        },
    ),
    "json": (f"{_EXTENSIONS}.JSON", {}),
    "schemaorarray": (f"{_EXTENSIONS}.JSONSchemaPropsOrArray", {}),
    "schemaorbool": (f"{_EXTENSIONS}.JSONSchemaPropsOrBool", {}),
    "schemaorstrings": (f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray", {}),
}
PATCH = f"{_META}.Patch"
DELETE_OPTIONS = f"{_META}.DeleteOptions"
STATUS = f"{_META}.Status"
RESOURCE_LIST = f"{_META}.APIResourceList"
_ALWAYS = ("meta.v1.DeleteOptions", "meta.v1.Status", "meta.v1.APIResourceList", "meta.v1.ObjectMeta")


def reference(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def schema_name(group: str, version: str, kind: str) -> str:
    """The name of a kind's schema: the built-in type's name, or the reversed group."""
    name = kind_named(group, version, kind)
    if name is not None:
        return openapi_name(name)
    return ".".join([*reversed(group.split(".")), version, kind])


def schemas_of(kinds: Iterable[Kind], further: Iterable[tuple[str, str, str]] = ()) -> Schemas:
    """The components of a document for these kinds; `further` are built-in kinds that its paths also use."""
    schemas: Schemas = {PATCH: {"type": "object"}}
    wanted = list(_ALWAYS)
    for kind in kinds:
        if kind.custom:
            schemas |= _custom(kind)
            wanted.append("meta.v1.ListMeta")
        else:
            wanted += _builtin_names(kind)
    wanted += [name for each in further if (name := kind_named(*each)) is not None]
    _add_builtins(schemas, wanted)
    return {name: schemas[name] for name in sorted(schemas)}


def _builtin_names(kind: Kind) -> list[str]:
    names = (kind.kind, kind.list_kind or f"{kind.kind}List")
    found = [kind_named(kind.group, kind.version, name) for name in names]
    return [name for name in found if name is not None]


def _add_builtins(schemas: Schemas, wanted: list[str]) -> None:
    """Add the types with these names and all types that they refer to."""
    seen = set(wanted)
    while wanted:
        name = wanted.pop()
        builtin = type_named(name)
        fields = flat_fields(builtin)
        schema: JsonObject = _described(describe_type(builtin)) | {"type": "object"}
        if required := sorted(field.name for field in fields if field.is_required):
            schema["required"] = required
        properties: JsonObject = (
            {name: _described(describe_field(builtin, name)) | {"type": "string"} for name in ("apiVersion", "kind")}
            if builtin.is_kind
            else {}
        )
        if fields:
            schema["properties"] = properties
        for field in fields:
            properties[field.name] = _described(describe_field(builtin, field.name)) | _property(field)
            if field.type in _NAMED_LEAVES:
                leaf, known = _NAMED_LEAVES[field.type]
                schemas[leaf] = known
            elif not field.is_leaf and field.type not in seen:
                seen.add(field.type)
                wanted.append(field.type)
        schema |= {f"x-kubernetes-{fact}-type": value for fact, value in builtin.facts}
        if builtin.is_kind:
            group, version = group_version(name)
            schema[GVK] = [{"group": group, "version": version, "kind": name.rpartition(".")[2]}]
        schemas[openapi_name(name)] = schema


def _described(text: str) -> JsonObject:
    return {"description": text} if text else {}


def _property(field: Field) -> JsonObject:
    facts = dict(field.facts)
    if field.shape:
        is_list = field.shape == "[]"
        found: JsonObject = {"type": "array" if is_list else "object"}
        found["items" if is_list else "additionalProperties"] = _element(field)
    elif field.type in _SCALARS:
        scalar, zero = _SCALARS[field.type]
        has_zero = field.presence == "a" and zero is not None
        found = {**scalar, "default": zero} if has_zero else dict(scalar)
    elif field.type in _NAMED_LEAVES:
        found = {"allOf": [reference(_NAMED_LEAVES[field.type][0])]}
    else:
        found = {"allOf": [reference(openapi_name(field.type))]}
        if field.presence != "p":
            found["default"] = {}
    return found | _extensions(facts)


def _extensions(facts: dict[str, str]) -> JsonObject:
    found: JsonObject = {}
    if "default" in facts:
        found["default"] = msgspec.json.decode(facts["default"])
    if "list" in facts:
        found["x-kubernetes-list-type"] = facts["list"]
    if "keys" in facts:
        found["x-kubernetes-list-map-keys"] = facts["keys"].split(",")
    if "map" in facts:
        found["x-kubernetes-map-type"] = facts["map"]
    if "patch" in facts:
        found["x-kubernetes-patch-strategy"] = facts["patch"]
    if "merge" in facts:
        found["x-kubernetes-patch-merge-key"] = facts["merge"]
    return found


def _element(field: Field) -> JsonObject:
    """The schema of a list's items or a map's values."""
    if field.type in _SCALARS:
        scalar, zero = _SCALARS[field.type]
        return {**scalar, "default": zero} if zero is not None else dict(scalar)
    if field.type in _NAMED_LEAVES:
        return reference(_NAMED_LEAVES[field.type][0])
    return {"allOf": [reference(openapi_name(field.type))], "default": {}}


def _object_properties() -> JsonObject:
    return {
        "apiVersion": {
            "type": "string",
            "description": "APIVersion defines the schema of the object, by group/version.",
        },
        "kind": {"type": "string", "description": "Kind of the object."},
        "metadata": {
            "allOf": [reference(f"{_META}.ObjectMeta")],
            "description": "Standard object's metadata: name, labels and the like.",
        },
    }


def _published(schema: JsonObject) -> JsonObject:
    """A schema of a definition with what its extensions mean: the fields of an object, an integer or a text."""
    found = dict(schema)
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _published(found[name])
    if properties := found.get("properties"):
        found["properties"] = {name: _published(each) for name, each in properties.items()}
    if found.get("x-kubernetes-embedded-resource"):
        found["properties"] = (found.get("properties") or {}) | _object_properties()
        found["required"] = list(dict.fromkeys((*(found.get("required") or ()), "kind", "apiVersion")))
    if found.get("x-kubernetes-int-or-string") and not any(each in found for each in ("anyOf", "allOf")):
        found["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return found


def _custom(kind: Kind) -> Schemas:
    """A custom kind and its list, as its definition describes them."""
    name = schema_name(kind.group, kind.version, kind.kind)
    schema = _published(kind.raw_schema or {"x-kubernetes-preserve-unknown-fields": True})
    schema.setdefault("type", "object")
    schema["properties"] = (schema.get("properties") or {}) | _object_properties()
    list_kind = kind.list_kind or f"{kind.kind}List"
    return {
        name: schema | {GVK: [{"group": kind.group, "version": kind.version, "kind": kind.kind}]},
        schema_name(kind.group, kind.version, list_kind): {
            "type": "object",
            "description": f"A list of {kind.kind}.",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"allOf": [reference(f"{_META}.ListMeta")]},
                "items": {"type": "array", "items": reference(name)},
            },
            GVK: [{"group": kind.group, "version": kind.version, "kind": list_kind}],
        },
    }
