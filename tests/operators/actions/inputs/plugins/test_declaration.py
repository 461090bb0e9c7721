"""What files and messages declare, and why some declare nothing."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, encode
from homeostat.operators.actions.api import METADATA
from homeostat.operators.actions.inputs.plugins.declaration import read_declarations
from homeostat.operators.actions.inputs.plugins.message import LARGEST, Withdrawal, read_message
from homeostat.operators.actions.inputs.plugins.reading import Declaration, RefusedError
from tests.operators.actions.inputs.input_plane import thing

BODY = {
    "name": "orders",
    "resource_type_name": "database-cluster",
    "resource_type_version": "2.1",
    "spec": {"replicas": 3},
    "action_plugin": "http",
    "plugin_config": {"url": "x"},
    "metadata": {"team": "a"},
}


def read(value: Json | bytes) -> tuple[list[Declaration], list[str]]:
    data = value if isinstance(value, bytes) else encode(value)
    found = read_declarations(data, "f.yaml", namespace="default")
    return found.declarations, [each.message for each in found.broken]


def test_an_object_is_a_declaration() -> None:
    metadata = {"name": "a", "namespace": "default", "labels": {"l": "1"}, "annotations": {"n": "2"}}
    (one,), broken = read(thing("a", metadata=metadata, action={"plugin": "http"}, status={"phase": "x"}))
    assert (one.kind, one.version, one.name, one.source, broken) == ("Thing", "v1", "a", "f.yaml", [])
    assert one.body == {
        "spec": {"text": "hello"},
        "action": {"plugin": "http"},
        "labels": {"l": "1"},
        "annotations": {"n": "2"},
    }


def test_a_body_of_the_rest_api_is_a_declaration() -> None:
    (one,), broken = read(BODY)
    assert (one.kind, one.version, one.name, broken) == ("DatabaseCluster", "v2-1", "orders", [])
    assert one.body == {
        "spec": {"replicas": 3},
        "action": {"plugin": "http", "config": {"url": "x"}},
        "annotations": {METADATA: '{"team":"a"}'},
    }


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ([thing("a"), BODY], ["a", "orders"]),
        ({"apiVersion": "v1", "kind": "List", "items": [thing("a"), thing("b")]}, ["a", "b"]),
        ({"items": [thing("a")]}, ["a"]),
        (b"---\n---\n", []),
        ([], []),
    ],
    ids=["list", "List", "items", "empty", "nothing"],
)
def test_many_may_be_in_one_file(value: Json | bytes, names: list[str]) -> None:
    found, broken = read(value)
    assert ([each.name for each in found], broken) == (names, [])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"{ a: [", "yaml: line"),
        (b"just text", "must be an object, not string"),
        ({"kind": "Thing"}, "apiVersion, kind and metadata are required"),
        (
            {**thing("a"), "apiVersion": "v1"},
            "is not a resource; an input may only declare kinds of resources.homeostat.dev",
        ),
        ({**thing("a"), "apiVersion": "homeostat.dev/v1alpha1"}, "is not a resource"),
        (thing("A b"), '"A b" is not a valid resource name'),
        (thing("a", metadata={}), "metadata.name is required"),
        (thing("a", metadata={"name": "a", "namespace": "x"}), 'for namespace "x", but the input is in "default"'),
        (thing("a", metadata={"name": "a", "finalizers": []}), 'unknown field "finalizers"'),
        (thing("a", metadata={"name": "a", "labels": {"l": 1}}), "must be a map of strings"),
        (thing("a", metadata={"name": "a", "labels": {"homeostat.dev/input": "x"}}), "is reserved for the input"),
        (thing("a", data={}), 'unknown field "data"'),
        ({**BODY, "id": 1}, 'orders: unknown field "id"'),
        ({**BODY, "resource_type_name": 1}, "is not a valid name"),
    ],
)
def test_what_is_invalid_is_reported_and_the_rest_of_the_file_counts(value: Json | bytes, told: str) -> None:
    found, (message,) = read(value)
    assert (found, told in message or message) == ([], True)
    if not isinstance(value, bytes):
        assert [each.name for each in read([value, thing("z")])[0]] == ["z"]


def test_messages_say_what_is_declared_or_withdrawn() -> None:
    body = {"event": "created", "name": "a", "type": "Thing", "version": "v1", "spec": {"text": "x"}}
    one = read_message(encode(body), "q", namespace="default")
    assert isinstance(one, Declaration)
    assert (one.kind, one.version, one.name, one.body) == ("Thing", "v1", "a", {"spec": {"text": "x"}})
    whole = {"event": "updated", "resource": thing("a", "x")}
    assert read_message(encode(whole), "q", namespace="default") == one
    for gone in ({"name": "a", "type": "thing"}, {"resource": thing("a")}):
        assert read_message(encode({"event": "deleted", **gone}), "q", namespace="x") == Withdrawal("Thing", "a")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[]", "expected a JSON object"),
        (b"{}", '"event" is null'),
        (encode({"event": ["created"]}), '"event" is'),
        (encode({"event": "deleted", "name": "a"}), "must name the type and the name of the deleted resource"),
        (
            encode({"event": "deleted", "resource": {"kind": "Thing", "metadata": 1}}),
            "must name the type and the name of the deleted resource",
        ),
        (encode({"event": "created", "resource": 1}), "must be an object, not integer"),
        (b" " * (LARGEST + 1), "bytes; the limit is"),
    ],
)
def test_messages_that_will_not_do_are_refused(data: bytes, told: str) -> None:
    with pytest.raises(RefusedError, match=told):
        read_message(data, "q", namespace="default")
