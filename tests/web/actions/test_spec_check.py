"""A spec is checked as JSON Schema says, before the server drops what it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.declared import Metadata
from homeostat.operators.actions.api import ResourceType, ResourceTypeSpec
from homeostat.web.actions.spec_check import checker_of
from tests.web.actions.calling import Api, note

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "size": {"type": "integer", "default": 3},
        "owner": {"type": ["string", "null"]},
        "anything": {},
        "inner": {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "string"}}},
        "parts": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": False, "properties": {"b": {"type": "boolean"}}},
        },
        "open": {"type": "object", "properties": {"c": {"type": "string"}}},
    },
}


@pytest.mark.parametrize(
    ("spec", "trouble"),
    [
        pytest.param({"text": "a"}, "", id="valid"),
        pytest.param({"text": "a", "owner": None, "anything": None}, "", id="nulls-that-are-allowed"),
        pytest.param({"text": "a", "open": {"more": 1}}, "", id="unknown-where-all-is-allowed"),
        pytest.param(
            {"text": "a", "colour": "red"},
            "(root): Additional properties are not allowed ('colour' was unexpected)",
            id="unknown",
        ),
        pytest.param(
            {"text": "a", "inner": {"z": 1}},
            "inner: Additional properties are not allowed ('z' was unexpected)",
            id="unknown-inside",
        ),
        pytest.param(
            {"text": "a", "parts": [{"b": True}, {"y": 1}]},
            "parts[1]: Additional properties are not allowed ('y' was unexpected)",
            id="unknown-in-a-list",
        ),
        pytest.param({"text": "a", "size": None}, "size: null is not of type 'integer'", id="null-with-a-default"),
        pytest.param({"text": None}, "text: null is not of type 'string'; text: Required value", id="null-required"),
        pytest.param({"text": "a", "inner": {"a": None}}, "inner.a: null is not of type 'string'", id="null-inside"),
        pytest.param(
            {"text": "a", "parts": [{"b": None}]}, "parts[0].b: null is not of type 'boolean'", id="null-in-a-list"
        ),
    ],
)
def test_what_the_server_would_drop_is_an_error(spec: dict[str, Any], trouble: str) -> None:
    declared = ResourceType(metadata=Metadata("note"), spec=ResourceTypeSpec(name="Note", schema=SCHEMA))
    assert checker_of(declared).settle(spec)[1] == trouble


async def test_the_api_refuses_it_with_400(api: Api) -> None:
    await api.made("/resource-types", {"name": "Note", "version": "v1", "schema": SCHEMA})
    for spec in ({"text": "a", "colour": "red"}, {"text": "a", "size": None}):
        answer = await api.post("/resources", note("one", spec=spec))
        assert (answer.status, answer.body["detail"].startswith("Spec validation failed: ")) == (400, True), answer
    await api.made("/resources", note("one"))
    assert (await api.put("/resources/1", {"spec": {"text": "a", "colour": "red"}})).status == 400
    assert (await api.put("/resources/by-name/Note/v1/one", {"spec": {"text": "a", "size": None}})).status == 400
