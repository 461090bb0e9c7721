"""What a schema fills in is what the struct would have held anyway."""

from __future__ import annotations

import copy
import itertools
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import Meta

from homeostat.objects.crd.field_meta import NULLABLE
from homeostat.objects.crd.type_schema import struct_schema
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.keywords import check_keywords
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.prune import prune
from homeostat.objects.schema.structural import check_structure
from homeostat.objects.schema.validate import Validator
from tests.examples import examples
from tests.objects.custom_kinds import GreetingSpec, Mood, Voice
from tests.objects.type_strategies import partial, plain, structs

UNWRITTEN = object()


class Limits(msgspec.Struct, frozen=True):
    cpu: str = "1"
    burst: int | None = None
    names: tuple[str, ...] = ()


class Empty(msgspec.Struct, frozen=True):
    name: str = ""
    other: int | None = None


class Rack(msgspec.Struct, frozen=True):
    limits: Limits = Limits("2")
    spare: Empty | None = None
    note: Annotated[str | None, NULLABLE] = "none"


DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "a text": (str, "x", "x"),
    "zero": (int, 0, 0),
    "false": (bool, False, False),
    "a number": (float, 0.5, 0.5),
    "an enum": (Mood, Mood.GLAD, "glad"),
    "a choice": (Literal["a", "b"], "b", "b"),
    "a list": (tuple[str, ...], ("b", "a"), ["b", "a"]),
    "a set, sorted": (frozenset[str], frozenset({"b", "a", "c"}), ["a", "b", "c"]),
    "a map": (dict[str, int], msgspec.field(default_factory=lambda: {"a": 1}), {"a": 1}),
    "anything": (Any, msgspec.field(default_factory=lambda: [1, "a"]), [1, "a"]),
    "undecoded": (msgspec.Raw, msgspec.Raw(b'{"a":1}'), {"a": 1}),
    "a struct that fills itself in": (Limits, Limits(), {}),
    "a struct with rules, written whole": (Voice, Voice(30), {"pitch": 30, "loudness": 0.5, "mood": "calm"}),
    "structs with rules in a list": (tuple[Voice, ...], (Voice(),), [{"pitch": 20, "loudness": 0.5, "mood": "calm"}]),
    "a struct with members of its own": (Limits, Limits("2", 3), {"cpu": "2", "burst": 3}),
    "a struct that empties a member": (Limits, Limits(""), {"cpu": ""}),
    "structs in a list": (tuple[Limits, ...], (Limits(), Limits("2")), [{}, {"cpu": "2"}]),
    "structs in a struct": (Rack, Rack(Limits(burst=1), Empty()), {"limits": {"burst": 1}, "spare": {}}),
    "a null that counts": (Rack, Rack(note=None), {"note": None}),
    "beside null": (Annotated[str | None, NULLABLE], "x", "x"),
    "none": (int | None, None, UNWRITTEN),
    "none that is null as well": (Annotated[int | None, NULLABLE], None, UNWRITTEN),
    "unset": (int | msgspec.UnsetType, msgspec.UNSET, UNWRITTEN),
    "an empty text": (Annotated[str, Meta(min_length=1)], "", UNWRITTEN),
    "an empty list": (tuple[str, ...], (), UNWRITTEN),
    "an empty map": (dict[str, str], {}, UNWRITTEN),
    "an empty struct": (Empty, Empty(), UNWRITTEN),
    "nothing undecoded": (msgspec.Raw, msgspec.Raw(b""), UNWRITTEN),
}


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def decoded(value: JsonObject, struct: type[msgspec.Struct]) -> msgspec.Struct:
    return msgspec.json.decode(msgspec.json.encode(value), type=struct)


def made(kind: Any, default: Any) -> type[msgspec.Struct]:
    return msgspec.defstruct("Made", [("field", kind, default)], frozen=True)


@pytest.mark.parametrize(("kind", "default", "written"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_a_default_is_written_as_far_as_it_says_something(kind: Any, default: Any, written: Any) -> None:
    struct = made(kind, default)
    raw = struct_schema(struct)
    assert raw["properties"]["field"].get("default", UNWRITTEN) == written
    assert "required" not in raw
    filled: JsonObject = {}
    apply_defaults(filled, schema_of(raw))
    assert decoded(filled, struct) == struct()
    assert "default" not in struct_schema(struct, has_defaults=False)["properties"]["field"]


class Given(msgspec.Struct, frozen=True):
    size: int | msgspec.UnsetType
    note: str | None


@pytest.mark.parametrize(
    ("kind", "default", "told"),
    [
        pytest.param(int | None, 5, "None means absent", id="a value where none is absence"),
        pytest.param(Literal["a", None], "a", "None means absent", id="a choice where none is absence"),
        pytest.param(Any, object(), "cannot be encoded as JSON", id="no JSON value"),
        pytest.param(Any, (1, 2), r"JSON decodes as \[1, 2\]", id="another JSON value"),
        pytest.param(Given, Given(1, None), "leaves out note", id="a struct without what must be given"),
        pytest.param(Given, Given(msgspec.UNSET, "a"), "leaves out size", id="a struct that unsets what must be given"),
        pytest.param(
            int,
            msgspec.field(default_factory=itertools.count().__next__),
            "returns a different value each time",
            id="another one each time",
        ),
    ],
)
def test_a_default_that_the_server_cannot_fill_in_is_refused_by_name(kind: Any, default: Any, told: str) -> None:
    with pytest.raises(TypeError, match=rf"^Made.field: .*{told}"):
        struct_schema(made(kind, default))


@examples(150)
@given(st.data())
def test_filling_in_never_changes_what_a_struct_decodes_to(data: st.DataObject) -> None:
    struct, values = data.draw(structs)
    raw = struct_schema(struct)
    assert check_structure(raw, "") + check_keywords(raw, "") == []
    schema = schema_of(raw)
    value = data.draw(partial(as_json(data.draw(values)), raw))
    before = decoded(value, struct)
    apply_defaults(value, schema)
    assert decoded(value, struct) == before
    assert Validator(schema).check(value) == []


@examples(150)
@given(st.data())
def test_what_the_server_lets_in_the_struct_decodes(data: st.DataObject) -> None:
    struct, values = data.draw(structs)
    raw = struct_schema(struct)
    schema = schema_of(raw)
    value = _spoilt(data, as_json(data.draw(values)))
    assume(isinstance(value, dict))
    prune(value, schema)
    apply_defaults(value, schema)
    if not Validator(schema).check(value):
        decoded(value, struct)


def _spoilt(data: st.DataObject, value: Any) -> Any:
    """With some parts replaced by others, and some left out."""
    match data.draw(st.sampled_from(["keep", "keep", "keep", "keep", "other", "null"])):
        case "other":
            return data.draw(st.one_of(plain, st.just([]), st.just({})))
        case "null":
            return None
    if isinstance(value, dict):
        return {key: _spoilt(data, each) for key, each in value.items() if data.draw(st.integers(0, 4))}
    if isinstance(value, list):
        return [_spoilt(data, each) for each in value]
    return value


@given(st.fixed_dictionaries({}, optional={"pitch": st.integers(1, 99), "mood": st.sampled_from(["glad", "calm"])}))
def test_an_example_is_filled_in_at_every_level(voice: dict[str, Any]) -> None:
    value: JsonObject = {"text": "a", "voice": dict(voice), "secondVoice": dict(voice)}
    filled = copy.deepcopy(value)
    apply_defaults(filled, schema_of(struct_schema(GreetingSpec)))
    assert set(filled["voice"]) == set(filled["secondVoice"]) == {"pitch", "loudness", "mood"}
    assert msgspec.convert(filled["voice"], Voice) == msgspec.convert(voice, Voice)
