"""OpenAPI documents come from servers: a hostile one is refused, or ends, without much work."""

from __future__ import annotations

import time
from typing import Any

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.openapi.document import MAX_PATHS, OpenApi
from homeostat.operators.sync.engine.openapi.schema import problems

_TWICE = [{"$ref": "#/twice"}, {"$ref": "#/twice"}]


def _document(**parts: Any) -> OpenApi:
    return OpenApi({"paths": {}, **parts})


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": _TWICE},
        {"anyOf": _TWICE},
        {"oneOf": _TWICE},
        {"properties": {"a": {"enum": [*range(100_000)]}}},
        {"properties": {f"a{number}": {} for number in range(100_000)}},
    ],
    ids=["allOf", "anyOf", "oneOf", "enum", "properties"],
)
def test_a_schema_that_takes_much_work_for_a_small_body_is_refused(schema: dict[str, Any]) -> None:
    began = time.thread_time()
    with pytest.raises(ValidationError, match="too much work"):
        problems(_document(twice=schema), schema, {"a": 1})
    assert set(_document(twice=schema).properties(schema)) <= {"a", *schema.get("properties", {})}
    assert time.thread_time() - began < 1


def test_lists_are_compared_with_few_allowed_ones() -> None:
    near = [*range(299), -1]
    allowed = {"enum": [near, [*range(300)]]}
    assert problems(_document(), allowed, [*range(300)]) == []
    with pytest.raises(ValidationError, match="too much work"):
        problems(_document(), {"enum": [near] * 300}, [*range(300)])


def test_a_large_body_is_checked_as_a_whole() -> None:
    schema = {"items": {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(9)}}}
    body = [{"p1": number} for number in range(30_000)]
    assert problems(_document(), schema, body) == []
    assert problems(_document(), schema, [*body, {"p1": "x"}]) == ["/30000/p1 is not of type integer"]


def test_a_long_reference_is_followed_once() -> None:
    schema = {"allOf": [{"$ref": "#/x" + "/x" * 100_000}] * 500}
    began = time.thread_time()
    assert problems(_document(), schema, {"a": 1}) == []
    assert time.thread_time() - began < 0.5


def test_parts_of_another_form_are_passed_over() -> None:
    odd = {"required": [[1], 2], "properties": [], "enum": 3, "anyOf": {}, "allOf": 4, "items": []}
    assert problems(_document(), odd, {"a": [1]}) == []
    assert list(_document().properties(odd)) == []


@pytest.mark.parametrize("odd", [None, 5, "x", {"a": 1}, [[], {}, 5]], ids=repr)
def test_an_operation_of_another_form_has_the_usual_media_type(odd: Any) -> None:
    answers = {"200": {"schema": {"type": "object"}}}
    body = [{"in": "body", "schema": {"type": "array"}}]
    operation = {"parameters": [odd, *body], "consumes": odd, "produces": odd, "responses": answers}
    document = OpenApi({"swagger": "2.0", "paths": {"/a": {"post": operation, "put": {"parameters": odd}}}})
    item = document.item("/a")
    assert item is not None
    assert document.request_bodies(item, "POST") == {"application/json": {"type": "array"}}
    assert document.responses(item, "POST") == {"application/json": {"type": "object"}}
    assert document.request_bodies(item, "PUT") == {}


def test_a_document_has_a_limited_number_of_paths() -> None:
    with pytest.raises(ValidationError, match="10001 paths"):
        OpenApi({"paths": {f"/a{number}": {} for number in range(MAX_PATHS + 1)}})
