"""The schema of a msgspec struct, as the `openAPIV3Schema` of a CustomResourceDefinition has it.

Both sides use the same type: the server validates objects against the schema, the operator decodes them into the
struct. So a struct either has an equivalent schema, or it is rejected with a `TypeError` that names the struct and the
field. Three promises:

- The struct decodes whatever a server accepts (Kubernetes turns a whole number written as 2.0 into 2).
- Filling in the schema's defaults never changes what the struct decodes to (`type_default.py`).
- The same types give the same schema, in whatever order their fields and values are declared.

`None` in a union stands for a field that is absent; `null` itself is accepted only for `NULLABLE` fields. Of a
`msgspec.Meta` the constraints count, the title, the description, the first example, and `extra_json_schema`, which is
merged in (`field_meta.py`). A struct's docstring is its description, its `__rules__` are its rules in CEL. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from homeostat.objects.crd.field_meta import RULES, written_rules
from homeostat.objects.crd.type_default import takes_none, written_default
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import UNSET

_ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
_PLAIN: dict[type[inspect.Type], JsonObject] = {
    inspect.AnyType: _ANYTHING,
    inspect.RawType: _ANYTHING,
    inspect.BoolType: {"type": "boolean"},
    inspect.IntType: {"type": "integer", "format": "int64"},
    inspect.FloatType: {"type": "number"},
    inspect.StrType: {"type": "string"},
    inspect.DateTimeType: {"type": "string", "format": "date-time"},
    inspect.DateType: {"type": "string", "format": "date"},
}
_INSTEAD: dict[type[inspect.Type], str] = {
    inspect.BytesType: "use str, with the format byte if it is base64",
    inspect.DateTimeType: "times have a timezone here",
    inspect.TimeDeltaType: 'use str, for such as "5m"',
    inspect.DecimalType: "use str, or int in a smaller unit",
    inspect.DataclassType: "use a msgspec struct",
    inspect.TypedDictType: "use a msgspec struct",
    inspect.NamedTupleType: "use a msgspec struct",
}
_LIMITS: tuple[tuple[str, str, JsonObject], ...] = (
    ("ge", "minimum", {}),
    ("gt", "minimum", {"exclusiveMinimum": True}),
    ("le", "maximum", {}),
    ("lt", "maximum", {"exclusiveMaximum": True}),
    ("multiple_of", "multipleOf", {}),
    ("pattern", "pattern", {}),
)


def struct_schema(struct: type[msgspec.Struct], *, has_defaults: bool = True) -> JsonObject:
    """A new schema at each call. A status gets no defaults: it holds what was observed."""
    try:
        info = inspect.type_info(struct)
    except TypeError as error:
        raise TypeError(f"{struct.__name__}: {error}") from error
    return _schema(info, _Place(struct.__name__, has_defaults))


class _Place(msgspec.Struct, frozen=True):
    where: str
    """`Struct.field`, for errors."""
    has_defaults: bool
    above: tuple[type, ...] = ()
    """The structs that enclose this place."""

    def refused(self, what: str, instead: str) -> TypeError:
        return TypeError(f"{self.where}: {what} is not supported in the schema of a custom kind; {instead}")


def _schema(info: inspect.Type, place: _Place) -> JsonObject:
    match info:
        case inspect.Metadata():
            return _of_metadata(info, place)
        case inspect.StructType():
            return _of_struct(info, place)
        case inspect.UnionType():
            return _of_union(info, place)
        case inspect.LiteralType():
            return _of_values(info.values, place)
        case inspect.EnumType():
            return _of_values([each.value for each in info.cls], place)
        case inspect.DictType():
            return _of_map(info, place)
        case inspect.CollectionType() | inspect.TupleType():
            return _of_list(info, place)
    plain = _PLAIN.get(type(info))
    if plain is None or getattr(info, "tz", None) is False:
        raise place.refused(_name(info), _INSTEAD.get(type(info), "use str, and parse it"))
    return {**plain, **_limits(info), **_sizes(info, "Length")}


def _name(info: inspect.Type) -> str:
    return (
        info.cls.__name__ if isinstance(info, inspect.CustomType) else type(info).__name__.removesuffix("Type").lower()
    )


def _of_metadata(info: inspect.Metadata, place: _Place) -> JsonObject:
    schema = _merged(_schema(info.type, place), _extra(info.extra_json_schema or {}, place))
    if not schema.get("nullable"):
        return schema
    if not takes_none(info) and not isinstance(info.type, inspect.AnyType | inspect.RawType):
        raise place.refused("a null that the type does not take", "add None to the type")
    if "enum" in schema:
        # Kubernetes validates null against the enum as well.
        schema["enum"] = [*schema["enum"], None]
    return schema


def _extra(given: JsonObject, place: _Place) -> JsonObject:
    if "default" in given:
        raise place.refused("a default in extra_json_schema", "give it as the default of the field itself")
    extra = {word: value for word, value in given.items() if word != "examples"}
    # Kubernetes allows one example in a schema.
    return extra | {"example": given["examples"][0]} if given.get("examples") else extra


def _merged(schema: JsonObject, extra: JsonObject) -> JsonObject:
    """Objects are merged, names that are required and rules are added, anything else is replaced."""
    merged = dict(schema)
    for word, value in extra.items():
        before = merged.get(word)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[word] = _merged(before, value)
        elif word == "required" and isinstance(before, list):
            merged[word] = sorted({*before, *value})
        elif word == RULES and isinstance(before, list):
            merged[word] = [*before, *value]
        else:
            merged[word] = value
    return merged


def _limits(info: Any) -> JsonObject:
    limits: JsonObject = {}
    for name, word, more in _LIMITS:
        if getattr(info, name, None) is not None:
            limits |= {word: getattr(info, name), **more}
    return limits


def _sizes(info: Any, what: str) -> JsonObject:
    given = {f"min{what}": getattr(info, "min_length", None), f"max{what}": getattr(info, "max_length", None)}
    return {word: size for word, size in given.items() if size is not None}


def _of_values(values: Iterable[Any], place: _Place) -> JsonObject:
    given = [each for each in values if each is not None]
    for kind, word in ((str, "string"), (int, "integer")):
        if given and all(type(each) is kind for each in given):
            return {"type": word, "enum": sorted(given)}
    raise place.refused(f"a choice of {given}", "choose among texts only, or among whole numbers only")


def _of_union(info: inspect.UnionType, place: _Place) -> JsonObject:
    members = [each for each in info.types if not isinstance(each, inspect.NoneType)]
    schemas = [_schema(each, place) for each in members]
    if len(schemas) == 1:
        return schemas[0]
    if sorted(each.get("type", "") for each in schemas) != ["integer", "string"] or any(
        "enum" in each for each in schemas
    ):
        message = " | ".join(_name(each) for each in members)
        raise place.refused(f"the union {message}", "only int | str, and None beside one type, are schemas")
    both = {word: value for each in schemas for word, value in each.items() if word not in ("type", "format")}
    return {"x-kubernetes-int-or-string": True, **both}


def _of_map(info: inspect.DictType, place: _Place) -> JsonObject:
    if not isinstance(info.key_type, inspect.AnyType) and info.key_type != inspect.StrType():
        raise place.refused(f"a map by {_name(info.key_type)}", "the keys of a map are str, and a rule may limit them")
    values = _schema(info.value_type, place)
    members = _ANYTHING if values == _ANYTHING else {"additionalProperties": values}
    return {"type": "object", **members, **_sizes(info, "Properties")}


def _of_list(info: inspect.CollectionType | inspect.TupleType, place: _Place) -> JsonObject:
    if isinstance(info, inspect.TupleType):
        size, kinds = len(info.item_types), info.item_types
        if not kinds or any(each != kinds[0] for each in kinds):
            raise place.refused("a tuple of several types", "use a struct, whose fields have names")
        return {"type": "array", "items": _schema(kinds[0], place), "minItems": size, "maxItems": size}
    schema = {"type": "array", "items": _schema(info.item_type, place), **_sizes(info, "Items")}
    if not isinstance(info, inspect.SetType | inspect.FrozenSetType):
        return schema
    if schema["items"].get("type", "object") in ("object", "array"):
        raise place.refused("a set of other than single values", "use a list, keyed by a field")
    return {**schema, "x-kubernetes-list-type": "set"}


def _of_struct(info: inspect.StructType, place: _Place) -> JsonObject:
    struct = getattr(info.cls, "__origin__", info.cls)
    if struct in place.above:
        raise place.refused(
            f"{struct.__name__} inside itself", "refer to other objects by name, or keep it as JsonObject"
        )
    if info.array_like or info.tag_field is not None:
        raise place.refused(f"the tagged or array-like {struct.__name__}", "use a plain struct")
    properties: JsonObject = {}
    for field in info.fields:
        inner = replace(place, where=f"{struct.__name__}.{field.name}", above=(*place.above, struct))
        schema = _schema(field.type, inner)
        default: Json = written_default(field, schema, inner.where) if place.has_defaults else UNSET
        properties[field.encode_name] = schema if default is UNSET else {**schema, "default": default}
    rules = getattr(struct, "__rules__", ())
    required = sorted(field.encode_name for field in info.fields if field.required)
    return {
        **({"description": _reflowed(struct.__doc__)} if struct.__doc__ else {}),
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({RULES: written_rules(rules)} if rules else {}),
    }


def _reflowed(doc: str) -> str:
    """A docstring as running text, without its line breaks."""
    return "\n\n".join(" ".join(each.split()) for each in re.split(r"\n\s*\n", doc.strip()))
