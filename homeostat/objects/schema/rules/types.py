"""The CEL types of a schema, as its validation rules see them.

Values that a rule must not read have no type: values of any shape (`x-kubernetes-preserve-unknown-fields` without a
type) and the lists and maps of such. Of `metadata` a rule sees `name` and `generateName`.
"""

from __future__ import annotations

from homeostat.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
)
from homeostat.objects.schema.schema import Schema

_FORMATS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_META = ObjectType("metadata", fields={"name": STRING, "generateName": STRING})


def cel_type(schema: Schema, *, is_root: bool = False) -> Type | None:
    """The type of a node; None if rules cannot read it. `is_root`: the schema of a whole object."""
    if schema.int_or_string:
        return DYN
    match schema.type:
        case "object":
            return _object_type(schema, is_resource=is_root or schema.embedded)
        case "array":
            return _list_type(schema)
        case "string":
            return _FORMATS.get(schema.format) or STRING.limited(_longest(schema))
        case "integer":
            return INT
        case "number":
            return DOUBLE
        case "boolean":
            return BOOL
    return None


def _list_type(schema: Schema) -> Type | None:
    element = cel_type(schema.items) if schema.items is not None else None
    if element is None:
        return None
    return ListType(
        element=element,
        list_type=schema.list_type or "atomic",
        map_keys=schema.map_keys,
        max_size=schema.constraints.get("maxItems"),
    )


def _object_type(schema: Schema, *, is_resource: bool) -> Type | None:
    if schema.additional is not None:
        value = cel_type(schema.additional)
        size = schema.constraints.get("maxProperties")
        return None if value is None else MapType(key=STRING, value=value, max_size=size)
    fields = {name: cel_type(member) for name, member in schema.properties.items()}
    known = {name: each for name, each in fields.items() if each is not None}
    if is_resource:
        known |= {"apiVersion": STRING, "kind": STRING, "metadata": _META}
    return ObjectType("object", fields=known, required=frozenset(schema.required))


def _longest(schema: Schema) -> int | None:
    """The maximum length in bytes; a character may take four."""
    if schema.constraints.get("enum"):
        return max(len(str(each)) for each in schema.constraints["enum"])
    limit = schema.constraints.get("maxLength")
    return None if limit is None else 4 * int(limit)
