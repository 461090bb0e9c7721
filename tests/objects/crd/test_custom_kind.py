"""A custom kind's definition: whole, the same at every call, and one that a server takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta
from msgspec.structs import replace

from homeostat.objects.crd.custom_kind import Column, Conditions, CustomKind, Scale, Status
from homeostat.objects.crd.definition import validate_crd
from homeostat.objects.crd.field_meta import rule
from homeostat.objects.schema.schema import Rule
from homeostat.objects.yaml.printer import dump
from tests.objects.custom_kinds import GREETING

GOLDEN = Path(__file__).parents[1] / "data" / "greeting.yaml"


class Anything(msgspec.Struct, frozen=True):
    size: int = 1
    name: str = ""


PLAIN = CustomKind(GREETING.kind, spec=Anything)


def version(kind: CustomKind) -> Any:
    return kind.definition()["spec"]["versions"][0]


def root(kind: CustomKind) -> Any:
    return version(kind)["schema"]["openAPIV3Schema"]


def test_a_definition_is_what_its_file_says() -> None:
    assert dump(GREETING.definition()).decode() == GOLDEN.read_text()


def test_a_server_takes_it() -> None:
    assert validate_crd(GREETING.definition()) == []


def test_each_call_gives_a_value_of_its_own() -> None:
    spoilt = GREETING.definition()
    properties = spoilt["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["extra"].clear()
    properties["status"]["properties"]["conditions"]["items"]["required"].clear()
    properties["spec"]["properties"]["tags"]["default"].clear()
    spoilt["spec"]["names"]["shortNames"].clear()
    assert dump(GREETING.definition()).decode() == GOLDEN.read_text()


def test_what_is_not_given_is_not_written() -> None:
    assert set(version(PLAIN)) == {"name", "served", "storage", "schema", "subresources"}
    assert version(PLAIN)["subresources"] == {"status": {}}
    assert set(root(PLAIN)) == {"type", "properties"}


def test_a_spec_that_may_be_left_out_is_filled_in() -> None:
    assert root(PLAIN)["properties"]["spec"]["default"] == {}
    assert "required" not in root(PLAIN)


def test_a_spec_with_a_required_field_is_required() -> None:
    assert root(GREETING)["required"] == ["spec"]
    assert "default" not in root(GREETING)["properties"]["spec"]


def test_a_kind_without_a_status_has_no_subresource() -> None:
    record = replace(PLAIN, status=None)
    assert "subresources" not in version(record)
    assert set(root(record)["properties"]) == {"spec"}


def test_nothing_is_filled_into_a_status() -> None:
    class Seen(Status, frozen=True):
        inner: Anything = Anything(2)
        count: int = 3

    assert b"default" not in msgspec.json.encode(root(replace(PLAIN, status=Seen))["properties"]["status"])


def test_a_status_may_have_fields_that_are_required() -> None:
    class Seen(Status, frozen=True):
        count: int

    assert root(replace(PLAIN, status=Seen))["properties"]["status"]["required"] == ["count"]


def test_a_cluster_wide_kind_has_the_scope_cluster() -> None:
    kind = replace(PLAIN, kind=replace(PLAIN.kind, is_namespaced=False))
    assert kind.definition()["spec"]["scope"] == "Cluster"


def test_names_that_follow_from_the_kind_are_filled_in() -> None:
    kind = replace(PLAIN, kind=replace(PLAIN.kind, singular="", short_names=(), categories=()))
    assert kind.definition()["spec"]["names"] == {
        "plural": "greetings",
        "singular": "greeting",
        "kind": "Greeting",
        "listKind": "GreetingList",
    }


def test_a_scale_may_have_a_selector() -> None:
    scaled = replace(PLAIN, scale=Scale(".spec.size", ".status.size", ".status.selector"))
    assert version(scaled)["subresources"]["scale"] == {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    }


def test_the_description_of_a_field_goes_before_that_of_its_struct() -> None:
    class Outer(msgspec.Struct, frozen=True):
        inner: Annotated[Status, Meta(description="Mine.", title="Inner")] = Status()

    inner = root(replace(PLAIN, spec=Outer))["properties"]["spec"]["properties"]["inner"]
    assert (inner["description"], inner["title"]) == ("Mine.", "Inner")


def test_rules_of_a_struct_and_of_its_field_both_hold() -> None:
    class Outer(msgspec.Struct, frozen=True):
        one: Annotated[
            int, rule("self > 1", "a"), rule("self < 9", message_expression="'b'", reason="FieldValueForbidden")
        ]

    held = root(replace(PLAIN, spec=Outer))["properties"]["spec"]["properties"]["one"]
    assert held["x-kubernetes-validations"] == [
        {"rule": "self > 1", "message": "a"},
        {"rule": "self < 9", "messageExpression": "'b'", "reason": "FieldValueForbidden"},
    ]


def test_conditions_may_stand_in_a_struct_of_ones_own() -> None:
    class Seen(msgspec.Struct, frozen=True):
        parts: Conditions = ()

    conditions = root(GREETING)["properties"]["status"]["properties"]["conditions"]
    assert root(replace(PLAIN, status=Seen))["properties"]["status"]["properties"]["parts"] == conditions


REFUSED = {
    "a rule that does not compile": ({"rules": (Rule("self.spec.wrong > 1"),)}, "undefined field 'wrong'"),
    "a column without a path": ({"columns": (Column("A", "spec"),)}, "must be a simple json path"),
    "a scale outside the spec": ({"scale": Scale(".size", ".status.size")}, "should be a json path under .spec"),
    "a selectable field that is not there": ({"selectable": (".spec.wrong",)}, "is an invalid path"),
    "a name that is none": ({"kind": replace(PLAIN.kind, plural="Greetings")}, "spec.names.plural"),
}


@pytest.mark.parametrize(("change", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_server_would_refuse_is_refused_at_once(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"^the definition of greeting.example.dev .*") as error:
        replace(PLAIN, **change).definition()
    assert told in str(error.value)


def test_a_default_that_breaks_its_own_constraint_is_refused() -> None:
    class Wrong(msgspec.Struct, frozen=True):
        size: Annotated[int, Meta(ge=5)] = 1

    with pytest.raises(ValueError, match=r"properties\[size\].default"):
        replace(PLAIN, spec=Wrong).definition()
