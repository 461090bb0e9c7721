"""A custom kind made from types, on a real plane: its objects are filled in, held to the types, and shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.declared import Declared
from tests.api.conftest import MERGE_PATCH, Api
from tests.api.objects import CRDS
from tests.objects.custom_kinds import GREETING, GreetingSpec, GreetingStatus, Guest, Mood, Voice

GREETINGS = GREETING.kind.path("default")
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Said",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
}


class Greeting(Declared, frozen=True):
    spec: GreetingSpec


@pytest.fixture
async def served(api: Api) -> Api:
    answer = await api("POST", CRDS, GREETING.definition())
    assert answer.status == 201, answer.body
    return api


def greeting(name: str = "g", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": GREETING.kind.api_version,
        "kind": GREETING.kind.kind,
        "metadata": {"name": name},
        "spec": {"text": "hello", **spec},
    }


async def test_the_definition_comes_back_as_it_was_made(served: Api) -> None:
    stored = (await served("GET", f"{CRDS}/greetings.example.dev")).json
    assert stored["spec"] == GREETING.definition()["spec"]


async def test_an_object_is_filled_in_and_decodes_to_what_it_would_have_been(served: Api) -> None:
    created = await served("POST", GREETINGS, greeting(secondVoice={}))
    filled = {"pitch": 20, "loudness": 0.5, "mood": "calm"}
    assert created.json["spec"] == {
        "text": "hello",
        "times": 1,
        "isLoud": False,
        "language": "en",
        "voice": filled,
        "secondVoice": filled,
        "tags": ["a", "b"],
        "room": "hall",
        "signature": "host",
    }
    assert msgspec.json.decode(created.body, type=Greeting).spec == GreetingSpec("hello", second_voice=Voice())


async def test_what_the_types_let_through_is_kept(served: Api) -> None:
    spec: dict[str, Any] = {
        "guests": [{"name": "ann", "port": 80}, {"name": "bob"}],
        "extra": {"any": [{"thing": 1}]},
        "payload": [1, {"x": None}],
        "labels": {"a": "b"},
        "signature": None,
        "voice": {"mood": "glad"},
    }
    created = await served("POST", GREETINGS, greeting(**spec))
    read = msgspec.json.decode(created.body, type=Greeting).spec
    assert read.guests == (Guest("ann", 80), Guest("bob"))
    assert (read.extra, read.labels, read.signature) == (spec["extra"], spec["labels"], None)
    assert read.voice == Voice(mood=Mood.GLAD)
    assert msgspec.json.decode(read.payload) == spec["payload"]


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "too short": ({"text": ""}, "spec.text", "should be at least 1 chars long"),
    "too high": ({"times": 11}, "spec.times", "should be less than or equal to 10"),
    "not a choice": ({"language": "la"}, "spec.language", 'Unsupported value: "la"'),
    "not of the enum": ({"voice": {"mood": "sad"}}, "spec.voice.mood", 'Unsupported value: "sad"'),
    "not above": ({"voice": {"pitch": 0}}, "spec.voice.pitch", "should be greater than 0"),
    "not in steps": ({"voice": {"loudness": 0.7}}, "spec.voice.loudness", "should be a multiple of 0.5"),
    "a pattern": ({"guests": [{"name": "Ann"}]}, "spec.guests[0].name", "should match '^[a-z]+$'"),
    "a key twice": ({"guests": [{"name": "a"}, {"name": "a"}]}, "spec.guests[1]", "Duplicate value"),
    "a member twice": ({"tags": ["a", "a"]}, "spec.tags[1]", "Duplicate value"),
    "neither a number nor a text": ({"guests": [{"name": "a", "port": True}]}, "spec.guests[0].port", "integer,string"),
    "no time": ({"guests": [{"name": "a", "since": "noon"}]}, "spec.guests[0].since", "date-time"),
    "a rule of the kind": ({"times": 5, "text": "x"}, "", "x is not said more than four times"),
    "a rule of a struct": ({"voice": {"pitch": 5}}, "spec.voice", "a low voice must be loud"),
}


@pytest.mark.parametrize(("spec", "field", "told"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_the_types_do_not_let_through_is_refused(
    served: Api, spec: dict[str, Any], field: str, told: str
) -> None:
    answer = await served("POST", GREETINGS, greeting(**spec))
    assert answer.status == 422, answer.body
    causes = answer.json["details"]["causes"]
    assert [each.get("field", "") for each in causes] == [field]
    assert told in causes[0]["message"]


async def test_a_spec_that_must_be_given_is_asked_for(served: Api) -> None:
    answer = await served("POST", GREETINGS, {**greeting(), "spec": None})
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "spec")


async def test_a_rule_of_a_field_holds_between_states(served: Api) -> None:
    await served("POST", GREETINGS, greeting())
    moved = await served("PATCH", f"{GREETINGS}/g", {"spec": {"room": "attic"}}, type=MERGE_PATCH)
    assert (moved.status, "cannot be changed" in moved.json["message"]) == (422, True)


async def test_a_status_is_written_beside_the_spec_and_nothing_is_filled_in(served: Api) -> None:
    await served("POST", GREETINGS, greeting())
    written = await served("PATCH", f"{GREETINGS}/g/status", {"status": {"conditions": [READY]}}, type=MERGE_PATCH)
    assert (written.status, written.json["status"]) == (200, {"conditions": [READY]})
    status = msgspec.json.decode(written.body, type=Greeting).read_status(GreetingStatus)
    assert [(each.type, each.reason) for each in status.conditions] == [("Ready", "Said")]
    assert (status.said, status.observed_generation) == (0, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "Maybe"}, "status.conditions[0].status"),
        ({"reason": ""}, "status.conditions[0].reason"),
        ({"reason": "not one word"}, "status.conditions[0].reason"),
        ({"type": "-"}, "status.conditions[0].type"),
        ({"lastTransitionTime": "now"}, "status.conditions[0].lastTransitionTime"),
        ({"lastTransitionTime": None}, "status.conditions[0].lastTransitionTime"),
        ({"observedGeneration": -1}, "status.conditions[0].observedGeneration"),
    ],
)
async def test_conditions_follow_their_standard(served: Api, change: dict[str, Any], field: str) -> None:
    await served("POST", GREETINGS, greeting())
    status = {"conditions": [{**READY, **change}]}
    answer = await served("PATCH", f"{GREETINGS}/g/status", {"status": status}, type=MERGE_PATCH)
    assert (answer.status, {each["field"] for each in answer.json["details"]["causes"]}) == (422, {field})


async def test_its_columns_show_in_a_table(served: Api) -> None:
    await served("POST", GREETINGS, greeting())
    await served("PATCH", f"{GREETINGS}/g/status", {"status": {"conditions": [READY]}}, type=MERGE_PATCH)
    table = (await served("GET", GREETINGS, headers=TABLE)).json
    assert [(each["name"], each["priority"]) for each in table["columnDefinitions"]] == [
        ("Name", 0),
        ("Text", 0),
        ("Times", 1),
        ("Ready", 0),
        ("Age", 0),
    ]
    assert table["rows"][0]["cells"][:4] == ["g", "hello", 1, "True"]


async def test_its_names_and_subresources_are_discovered(served: Api) -> None:
    found = {each["name"]: each for each in (await served("GET", "/apis/example.dev/v1")).json["resources"]}
    assert set(found) == {"greetings", "greetings/status", "greetings/scale"}
    named = {word: found["greetings"][word] for word in ("shortNames", "categories", "singularName", "namespaced")}
    assert named == {"shortNames": ["gr"], "categories": ["all"], "singularName": "greeting", "namespaced": True}


async def test_it_is_scaled_and_selected_by_its_fields(served: Api) -> None:
    await served("POST", GREETINGS, greeting())
    await served("POST", GREETINGS, greeting("h", language="de"))
    assert (await served("GET", f"{GREETINGS}/g/scale")).json["spec"] == {"replicas": 1}
    chosen = (await served("GET", GREETINGS, fieldSelector="spec.language=de")).json["items"]
    assert [each["metadata"]["name"] for each in chosen] == ["h"]
