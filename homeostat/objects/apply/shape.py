"""How an object divides into fields that a manager can own: the part of a schema that apply and managedFields need.

A leaf (a scalar, an atomic list or map) has no shape. Structs and maps divide by name, list-maps by the keys of their
items, sets by the value of their items. Values without a schema divide by their JSON type: objects by name, the rest
whole. Shapes are built on first use, so that the unused parts of a large schema cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from threading import RLock
from typing import Literal

from homeostat.objects.json import Json, encode
from homeostat.objects.schema.schema import UNSET, Schema
from homeostat.objects.wire.type_table import flat_fields, type_named

Entry = tuple[str, "Shape | None", bool, bool]
"""A member: its path element, its shape, whether the schema names it, whether an empty object already has it."""


class Shape:
    """`struct` divides by name, `list` by keys or values, `any` as the value looks."""

    __slots__ = ("_family", "_prefix", "_rest", "_schema", "fields", "item", "keys", "kind", "needed_keys")

    def __init__(self, kind: Literal["struct", "list", "any"], schema: Schema, family: Family) -> None:
        self.kind = kind
        self.fields: dict[str, Entry] = {}
        self.item: Shape | None = None
        self.keys: tuple[str, ...] = ()
        self.needed_keys: tuple[str, ...] = ()
        self._schema = schema
        self._family = family
        self._rest: Shape | None = None
        self._prefix = ""

    def link(self) -> None:
        """Sets the shapes of the parts; a second step, because parts may refer back to this shape."""
        schema, family = self._schema, self._family
        if self.kind == "struct":
            rest = schema.additional
            self._rest = family.shape(rest) if rest and not _is_anything(rest) else family.any
        elif self.kind == "any":
            self._rest = self
        else:
            self.item = family.shape(schema.items) if schema.items else None
            self.keys = tuple(sorted(list_keys(schema)))
            self.needed_keys = tuple(key for key in self.keys if self._key_default(key) is UNSET)
            if len(self.keys) == 1:
                self._prefix = f"k:{{{_json(self.keys[0])}:"

    def member(self, name: str) -> Entry:
        """The entry of a name; those the schema names are kept in `fields`, where a caller looks first."""
        schema = self._schema.properties.get(name) if self.kind == "struct" else None
        if schema is None:
            return "f:" + name, self._rest, False, False
        entry = ("f:" + name, self._family.shape(schema), True, self._exists_when_empty(name))
        self.fields[name] = entry
        return entry

    def _exists_when_empty(self, name: str) -> bool:
        return self._family.builtin and name in _filled_fields(self._schema.name)

    def elements(self, items: Iterable[Json]) -> list[str] | None:
        """The path element of each item, None where an item has none (no key, or not a scalar in a set)."""
        found = []
        for item in items:
            element = self._keyed(item) if self.keys else _valued(item)
            if not element:
                return None
            found.append(element)
        return found

    def _keyed(self, item: Json) -> str:
        if type(item) is not dict:
            return ""
        if self._prefix:
            value = item.get(self.keys[0])
            if value is not None:
                return f"{self._prefix}{encode(value).decode()}}}"
        values = {}
        for name in self.keys:
            value = item[name] if name in item else self._key_default(name)
            if value is UNSET:
                return ""
            values[name] = value
        return f"k:{encode(values).decode()}"

    def _key_default(self, name: str) -> Json:
        items = self._schema.items
        field = items.properties.get(name) if items else None
        return field.default if field else UNSET


class Family:
    """The shapes of one kind, each built once, so that a recursive schema terminates."""

    __slots__ = ("_linking", "_made", "any", "builtin")

    def __init__(self, *, builtin: bool) -> None:
        self._made: dict[Schema, Shape | None] = {}
        # No other thread may see a shape before it is linked.
        self._linking = RLock()
        self.builtin = builtin
        self.any = Shape("any", Schema(), self)
        self.any.link()

    def shape(self, schema: Schema) -> Shape | None:
        with self._linking:
            if schema in self._made:
                return self._made[schema]
            kind = _division(schema)
            if kind is None or kind == "any":
                self._made[schema] = self.any if kind else None
                return self._made[schema]
            made = self._made[schema] = Shape(kind, schema, self)
            made.link()
            return made


def list_keys(schema: Schema) -> tuple[str, ...]:
    if schema.list_type:
        return schema.map_keys
    return (schema.patch_merge_key,) if schema.patch_merge_key else ()


def _division(schema: Schema) -> Literal["struct", "list", "any"] | None:
    """None for a leaf."""
    if schema.type == "array":
        # Older built-in types say by their patch strategy what a list type says.
        if schema.list_type in ("map", "set") or (not schema.list_type and "merge" in schema.patch_strategy):
            return "list"
        return None
    if schema.type == "object" or schema.properties or schema.additional:
        return None if schema.map_type == "atomic" else "struct"
    return "any" if not schema.type and not schema.int_or_string else None


def _is_anything(schema: Schema) -> bool:
    """`additionalProperties: true`: any value, and nothing below it is unknown."""
    return not (schema.type or schema.int_or_string or schema.properties or schema.additional or schema.items)


@lru_cache(maxsize=1024)
def _filled_fields(openapi_name: str) -> frozenset[str]:
    """The fields that an empty built-in object has, since it is a Go struct: structs held by value, lists that are
    never left out.
    """
    try:
        fields = flat_fields(type_named(".".join(openapi_name.split(".")[-3:])))
    except KeyError:
        return frozenset()
    return frozenset(
        field.name
        for field in fields
        if (field.presence == "a" if field.shape else not field.is_leaf and field.presence != "p")
    )


def _valued(item: Json) -> str:
    if item is None or isinstance(item, (dict, list)):
        return ""
    return f"v:{_json(item)}"


def _json(value: Json) -> str:
    return encode(value).decode()


def _text_map() -> Schema:
    return Schema(type="object", additional=Schema(type="string"))


_OWNER = Schema(type="object", map_type="atomic", properties={"uid": Schema(type="string")})
_TEXT = Schema(type="string")
_OBJECT_META = Schema(
    type="object",
    properties={
        **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp"), _TEXT),
        "generation": Schema(type="integer"),
        "labels": _text_map(),
        "annotations": _text_map(),
        "finalizers": Schema(type="array", list_type="set", items=Schema(type="string")),
        "ownerReferences": Schema(type="array", list_type="map", map_keys=("uid",), items=_OWNER),
        "managedFields": Schema(type="array", list_type="atomic", items=Schema(type="object")),
    },
)


@lru_cache(maxsize=1024)
def shape_of(schema: Schema) -> Shape:
    """The shape of a kind's objects. A custom kind's `metadata` is ObjectMeta whatever its schema leaves out."""
    family = Family(builtin=bool(schema.name))
    root = Schema(type="object", properties=schema.properties, additional=schema.additional, name=schema.name)
    shape = Shape("struct", root, family)
    shape.link()
    metadata = schema.properties.get("metadata")
    if metadata is None or not metadata.properties:
        shape.fields["metadata"] = ("f:metadata", family.shape(_OBJECT_META), True, family.builtin)
    return shape
