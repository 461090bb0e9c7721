"""The default of a struct's field, as the default in its schema.

Decoding gives the same struct with the schema's defaults filled in as without. So a default is written only as far as
it differs from what decoding gives anyway: an object holds the members that differ from its own defaults, and empty
texts, lists and maps are not written at all, since absent and empty are the same to the struct (and a rule asks
`has(self.x)`). Numbers and booleans always are. Where there are rules a default is written in full: Kubernetes
validates it as it is written, with nothing filled in. A default that JSON cannot express is a `TypeError`. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

from homeostat.objects.crd.field_meta import RULES
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.schema import UNSET

_ABSENT: tuple[Json, ...] = (None, "", [], {})


def written_default(field: inspect.Field, schema: JsonObject, where: str) -> Json:
    """The default to write into the schema; `UNSET` for none. `schema` is the field's own, `where` its name for
    errors.
    """
    value = _own_default(field, where)
    if value is None or value is UNSET or value is msgspec.NODEFAULT:
        return UNSET
    if takes_none(field.type) and not schema.get("nullable"):
        message = "None means absent, which the server defaults"
        raise TypeError(f"{where}: the default is {value!r}, but {message}; make it NULLABLE, or None the default")
    written = _written(value, field.type, where)
    if written == {} and any("default" in each for each in schema.get("properties", {}).values()):
        return whole_default({}, schema)
    return UNSET if written in _ABSENT else whole_default(written, schema)


def whole_default(written: Json, schema: JsonObject) -> Json:
    """The default, with the defaults inside it filled in if the schema has rules."""
    if not _has_rules(schema):
        return written
    holder = {"default": written}
    apply_defaults(holder, schema_of({"type": "object", "properties": {"default": schema}}))
    return holder["default"]


def _has_rules(schema: JsonObject) -> bool:
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return RULES in schema or any(_has_rules(each) for each in below if isinstance(each, dict))


def takes_none(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata():
            return takes_none(info.type)
        case inspect.UnionType():
            return info.includes_none
        case inspect.LiteralType():
            return None in info.values
    return False


def _own_default(field: inspect.Field, where: str) -> Any:
    """`NODEFAULT` for a required field, `UNSET` for an optional one without a default."""
    if field.required:
        return msgspec.NODEFAULT
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is msgspec.NODEFAULT:
        return UNSET
    value = field.default_factory()
    if value != field.default_factory():
        raise TypeError(
            f"{where}: its default_factory returns a different value each time; omit the default and set the "
            f"field later"
        )
    return value


def _written(value: Any, info: inspect.Type, where: str) -> Json:
    match info:
        case inspect.Metadata():
            return _written(value, info.type, where)
        case inspect.UnionType(types=(one, inspect.NoneType())) | inspect.UnionType(types=(inspect.NoneType(), one)):
            return None if value is None else _written(value, one, where)
        case inspect.StructType():
            return _written_struct(value, info, where)
        case inspect.ListType() | inspect.VarTupleType():
            return [_written(each, info.item_type, where) for each in value]
        case inspect.DictType():
            return {key: _written(each, info.value_type, where) for key, each in value.items()}
        case inspect.RawType() if not value:
            return None
    return _as_json(value, info, where)


def _as_json(value: Any, info: inspect.Type, where: str) -> Json:
    try:
        written = msgspec.json.decode(msgspec.json.encode(value, order="deterministic"))
    except TypeError as error:
        raise TypeError(f"{where}: the default {value!r} cannot be encoded as JSON: {error}") from error
    if isinstance(info, inspect.AnyType) and written != value:
        raise TypeError(
            f"{where}: the default is {value!r}, which JSON decodes as {written!r}; use that as the default"
        )
    return written


def _written_struct(value: msgspec.Struct, info: inspect.StructType, where: str) -> JsonObject:
    written: JsonObject = {}
    for field in info.fields:
        member = getattr(value, field.name)
        if member == _own_default(field, where):
            continue
        if member is UNSET or (member is None and not _is_nullable(field.type)):
            raise TypeError(f"{where}: the default leaves out {field.name}, which the server fills in; give it a value")
        written[field.encode_name] = _written(member, field.type, where)
    return written


def _is_nullable(info: inspect.Type) -> bool:
    return isinstance(info, inspect.Metadata) and bool((info.extra_json_schema or {}).get("nullable"))
