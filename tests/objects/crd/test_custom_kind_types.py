"""Which type becomes which schema, and which are refused by name."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import msgspec
import pytest
from msgspec import Meta

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.crd.field_meta import NULLABLE, keyed
from homeostat.objects.crd.type_schema import struct_schema
from homeostat.objects.json import JsonObject
from tests.objects.custom_kinds import GREETING

T = TypeVar("T")
ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
WHOLE = {"type": "integer", "format": "int64"}


class Level(IntEnum):
    HIGH = 2
    LOW = 1


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Port(msgspec.Struct, frozen=True):
    """A port."""

    name: str
    number: int = 80


class Node(msgspec.Struct, frozen=True):
    name: str
    children: tuple[Node, ...] = ()


class Box(msgspec.Struct, Generic[T], frozen=True):
    """Holds one."""

    content: T


class Tagged(msgspec.Struct, frozen=True, tag="a"):
    name: str


class Row(msgspec.Struct, frozen=True, array_like=True):
    name: str


@dataclass
class Data:
    name: str


class Pair(NamedTuple):
    one: int


class Typed(TypedDict):
    one: int


class Foreign:
    pass


PORT = {
    "description": "A port.",
    "type": "object",
    "properties": {"name": TEXT, "number": {**WHOLE, "default": 80}},
    "required": ["name"],
}
SCHEMAS: dict[str, tuple[Any, JsonObject]] = {
    "text": (str, TEXT),
    "a text's limits": (
        Annotated[str, Meta(min_length=1, max_length=2, pattern="^a")],
        {**TEXT, "minLength": 1, "maxLength": 2, "pattern": "^a"},
    ),
    "a whole number": (int, WHOLE),
    "from and to": (Annotated[int, Meta(ge=0, le=9)], {**WHOLE, "minimum": 0, "maximum": 9}),
    "above and below": (
        Annotated[int, Meta(gt=0, lt=9)],
        {**WHOLE, "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True},
    ),
    "in steps": (Annotated[int, Meta(multiple_of=5)], {**WHOLE, "multipleOf": 5}),
    "a number": (Annotated[float, Meta(ge=0.5)], {"type": "number", "minimum": 0.5}),
    "a boolean": (bool, {"type": "boolean"}),
    "a time": (datetime, {**TEXT, "format": "date-time"}),
    "a date": (date, {**TEXT, "format": "date"}),
    "anything": (Any, ANYTHING),
    "anything, undecoded": (msgspec.Raw, ANYTHING),
    "any object": (JsonObject, {"type": "object", **ANYTHING}),
    "an optional one": (int | None, WHOLE),
    "one that may be unset": (int | msgspec.UnsetType, WHOLE),
    "an optional one with limits": (Annotated[int, Meta(ge=1)] | None, {**WHOLE, "minimum": 1}),
    "one that may be null": (Annotated[int | None, NULLABLE], {**WHOLE, "nullable": True}),
    "anything, null as well": (Annotated[Any, NULLABLE], {**ANYTHING, "nullable": True}),
    "a choice": (Literal["b", "a"], {**TEXT, "enum": ["a", "b"]}),
    "an optional choice": (Literal["b", "a", None], {**TEXT, "enum": ["a", "b"]}),
    "a choice that may be null": (
        Annotated[Literal["a"] | None, NULLABLE],
        {**TEXT, "enum": ["a", None], "nullable": True},
    ),
    "a choice of numbers": (Literal[2, 1], {"type": "integer", "enum": [1, 2]}),
    "an enum": (Level, {"type": "integer", "enum": [1, 2]}),
    "a number or a text": (int | str, {"x-kubernetes-int-or-string": True}),
    "a number or a text with limits": (
        Annotated[int, Meta(ge=1)] | Annotated[str, Meta(pattern="%$")] | None,
        {"x-kubernetes-int-or-string": True, "minimum": 1, "pattern": "%$"},
    ),
    "a list": (list[str], {"type": "array", "items": TEXT}),
    "a list's limits": (
        Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)],
        {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2},
    ),
    "limits of items": (
        list[Annotated[str, Meta(max_length=2)]],
        {"type": "array", "items": {**TEXT, "maxLength": 2}},
    ),
    "a list of anything": (list[Any], {"type": "array", "items": ANYTHING}),
    "a tuple": (tuple[int, int], {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}),
    "a set": (set[str], {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
    "a list by key": (
        Annotated[list[Port], keyed("name")],
        {
            "type": "array",
            "items": PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    ),
    "a map": (dict[str, int], {"type": "object", "additionalProperties": WHOLE}),
    "a map's limits": (
        Annotated[dict[str, str], Meta(min_length=1, max_length=2)],
        {"type": "object", "additionalProperties": TEXT, "minProperties": 1, "maxProperties": 2},
    ),
    "a map of lists": (
        dict[str, list[str]],
        {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
    ),
    "a struct": (Port, PORT),
    "a generic struct": (
        Box[int],
        {"description": "Holds one.", "type": "object", "properties": {"content": WHOLE}, "required": ["content"]},
    ),
    "words about it": (
        Annotated[str, Meta(title="T", description="D", examples=["x", "y"])],
        {**TEXT, "title": "T", "description": "D", "example": "x"},
    ),
    "more than types can say": (
        Annotated[JsonObject, Meta(extra_json_schema={"x-kubernetes-embedded-resource": True})],
        {"type": "object", **ANYTHING, "x-kubernetes-embedded-resource": True},
    ),
    "more about a member": (
        Annotated[Port, Meta(extra_json_schema={"properties": {"name": {"maxLength": 9}}, "required": ["number"]})],
        {
            **PORT,
            "properties": {"name": {**TEXT, "maxLength": 9}, "number": {**WHOLE, "default": 80}},
            "required": ["name", "number"],
        },
    ),
}


def struct_of(kind: Any) -> type[msgspec.Struct]:
    return msgspec.defstruct("Made", [("field", kind)], frozen=True)


@pytest.mark.parametrize(("kind", "schema"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_type_has_a_schema_that_says_the_same(kind: Any, schema: JsonObject) -> None:
    made = struct_of(kind)
    expected = {"type": "object", "properties": {"field": schema}, "required": ["field"]}
    assert struct_schema(made) == expected
    assert CustomKind(GREETING.kind, made).definition()["spec"]["names"]["kind"] == "Greeting"


def test_the_order_of_fields_and_values_does_not_matter() -> None:
    one = msgspec.defstruct("One", [("a", Literal["x", "y"]), ("b", int), ("c", Box[int])])
    other = msgspec.defstruct("One", [("c", Box[int]), ("b", int), ("a", Literal["y", "x"])])
    assert struct_schema(one) == struct_schema(other)


def test_fields_have_their_wire_names() -> None:
    made = msgspec.defstruct("Made", [("first_one", int), ("second", int, msgspec.field(name="2nd"))], rename="camel")
    assert struct_schema(made)["required"] == ["2nd", "firstOne"]


REFUSED: dict[str, tuple[Any, str]] = {
    "bytes": (bytes, "Made.field: bytes is not supported in the schema of a custom kind; use str"),
    "a duration": (timedelta, "Made.field: timedelta"),
    "a uuid": (uuid.UUID, "Made.field: uuid"),
    "a time without a timezone": (Annotated[datetime, Meta(tz=False)], "Made.field: datetime"),
    "null beside no None": (Annotated[int, NULLABLE], "Made.field: a null that the type does not take"),
    "a decimal": (Decimal, "Made.field: decimal"),
    "a dataclass": (Data, "Made.field: dataclass"),
    "a named tuple": (Pair, "Made.field: namedtuple"),
    "a typed dict": (Typed, "Made.field: typeddict"),
    "a class of one's own": (Foreign, "Made.field: Foreign"),
    "inside a list": (list[bytes], "Made.field: bytes"),
    "inside a map": (dict[str, bytes], "Made.field: bytes"),
    "inside a struct": (Box[bytes], "Box.content: bytes"),
    "a tuple of several types": (tuple[int, str], "Made.field: a tuple of several types"),
    "an empty tuple": (tuple[()], "Made.field: a tuple of several types"),
    "a union of several types": (int | list[int], "Made.field: the union int | list"),
    "a union with a choice": (int | Literal["a"], "Made.field: the union int | literal"),
    "a choice of several types": (Literal[1, "a"], "Made.field: a choice of"),
    "a choice of booleans": (Literal[True], "Made.field: a choice of [True]"),
    "an enum of several types": (Mixed, "Made: Enums must contain either all str or all int values"),
    "a choice of nothing": (Literal[None], "Made.field: a choice of []"),
    "a map by number": (dict[int, str], "Made.field: a map by int"),
    "a map by limited text": (dict[Annotated[str, Meta(max_length=3)], str], "Made.field: a map by str"),
    "a set of structs": (frozenset[Port], "Made.field: a set of other than single values"),
    "a struct inside itself": (Node, "Node.children: Node inside itself"),
    "a tagged struct": (Tagged, "Made.field: the tagged or array-like Tagged"),
    "a struct that is a list": (Row, "Made.field: the tagged or array-like Row"),
    "what msgspec refuses": (str | datetime, "Made: Type unions may not contain more than one str-like type"),
    "a default beside the field's": (
        Annotated[int, Meta(extra_json_schema={"default": 1})],
        "Made.field: a default in extra_json_schema",
    ),
}


@pytest.mark.parametrize(("kind", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_schema_is_refused_by_name(kind: Any, told: str) -> None:
    with pytest.raises(TypeError) as error:
        struct_schema(struct_of(kind))
    assert str(error.value).startswith(told)
