"""Objects become the protobuf that Go would have written."""

from __future__ import annotations

import random

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.wire.encode import encode, message_writer, watch_event
from homeostat.objects.wire.protobuf import decode
from tests.objects.facts import FACTS, needs_facts
from tests.objects.wire.pairs import sealed
from tests.objects.wire.test_protobuf import CONFIG_MAP, DEFINITION, DEPLOYMENT, GOLDEN


@needs_facts
@pytest.mark.parametrize("name", [each for each in GOLDEN if each != "core.v1.WatchEvent"])
def test_a_golden_object_is_encoded_byte_for_byte(name: str) -> None:
    golden = FACTS / "golden"
    obj: JsonObject = msgspec.json.decode((golden / f"{name}.json").read_bytes())
    assert encode(obj) == (golden / f"{name}.pb").read_bytes()


@needs_facts
def test_a_golden_event_of_a_watch_is_encoded_byte_for_byte() -> None:
    golden = FACTS / "golden"
    event: JsonObject = msgspec.json.decode((golden / "core.v1.WatchEvent.json").read_bytes())
    raw = message_writer("meta.v1.WatchEvent")(event)
    assert sealed("", "", raw) == (golden / "core.v1.WatchEvent.pb").read_bytes()


@pytest.mark.parametrize("obj", [CONFIG_MAP, DEPLOYMENT, DEFINITION], ids=lambda each: each["kind"])
def test_an_encoded_object_decodes_to_itself(obj: JsonObject) -> None:
    again = decode(encode(obj))
    assert encode(again) == encode(obj)
    assert decode(encode(again)) == again


def test_a_list_has_its_items() -> None:
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": [CONFIG_MAP]}
    found = decode(encode(listed))
    assert found["metadata"] == {"resourceVersion": "7"}
    assert [item["data"] for item in found["items"]] == [{"k": "v"}]


def test_many_entries_of_a_map_are_in_the_order_of_their_keys() -> None:
    keys = [f"{number:05}" for number in range(25_000)]
    random.Random(1).shuffle(keys)
    shuffled = {"apiVersion": "v1", "kind": "ConfigMap", "data": dict.fromkeys(keys, "x")}
    assert list(decode(encode(shuffled))["data"]) == sorted(keys)


@pytest.mark.parametrize(
    ("text", "shown"),
    {
        "2024-02-29T12:00:00Z": "2024-02-29T12:00:00Z",
        "2024-02-29T13:00:00+01:00": "2024-02-29T12:00:00Z",
        "1969-12-31T23:59:59Z": "1969-12-31T23:59:59Z",
        "2024-02-29t12:00:00.5z": "2024-02-29T12:00:00Z",
    }.items(),
)
def test_a_time_is_in_seconds_of_utc(text: str, shown: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": text}}
    assert decode(encode(obj))["metadata"]["creationTimestamp"] == shown


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "yesterday", None])
def test_what_is_no_time_is_absent(text: str | None) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": text}}
    assert "creationTimestamp" not in decode(encode(obj))["metadata"]


def test_an_event_begins_with_its_length() -> None:
    document = encode(CONFIG_MAP)
    event = watch_event("ADDED", document)
    assert int.from_bytes(event[:4], "big") == len(event) - 4
    assert event.endswith(document)


def test_a_kind_that_is_not_built_in_has_no_form() -> None:
    with pytest.raises(KeyError, match=r"Widget of example\.com/v1"):
        encode({"apiVersion": "example.com/v1", "kind": "Widget"})
