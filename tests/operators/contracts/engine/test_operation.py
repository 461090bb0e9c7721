"""Operations of OpenAPI documents."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.diff.openapi import METHODS
from homeostat.operators.contracts.engine.openapi.operation import MAX_OPERATIONS, Api, Operation, Scheme, read_api

_TEXT = """\
openapi: 3.0.3
info: {title: Mill, version: "1", description: Grinds.}
servers: [{url: "https://mill.test/v1"}]
paths:
  /sacks/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}]
    get:
      operationId: getSack
      summary: One sack
      tags: [sacks]
      parameters: [{name: full, in: query, schema: {type: boolean}}]
      responses:
        200: {description: It, content: {application/json: {schema: {$ref: "#/components/schemas/Sack"}}}}
    put:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Sack"}}}
      responses: {"204": {description: Kept}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    token: {type: http, scheme: Bearer}
  parameters:
    Id: {name: id, in: path, schema: {type: string}}
  schemas:
    Sack:
      type: object
      properties: {kilos: {type: number}, inner: {$ref: "#/components/schemas/Sack"}}
"""


def _api(text: str) -> Api:
    api = read_api({"a.yaml": text.encode()}, "a.yaml")
    assert api is not None
    return api


def _operation(method: str) -> Operation:
    return next(each for each in _api(_TEXT).operations if each.method == method)


def test_an_operation_has_its_parameters_body_and_answers() -> None:
    assert (_api(_TEXT).title, _api(_TEXT).servers) == ("Mill", ("https://mill.test/v1",))
    get = _operation("GET")
    assert (get.id, get.path, get.summary, get.tag, get.is_reading) == (
        "getSack",
        "/sacks/{id}",
        "One sack",
        "sacks",
        True,
    )
    assert [(each.name, each.place, each.is_required) for each in get.parameters] == [
        ("id", "path", True),
        ("full", "query", False),
    ]
    assert [(each.code, each.schema["properties"]["kilos"]) for each in get.answers] == [("200", {"type": "number"})]


def test_schemes_say_how_callers_identify_themselves() -> None:
    assert _api(_TEXT).schemes == {
        "key": Scheme(type="apiKey", place="header", name="X-Key"),
        "token": Scheme(type="http", scheme="bearer"),
    }


def test_an_operation_without_an_id_is_named_by_method_and_path() -> None:
    put = _operation("PUT")
    assert (put.id, put.is_reading) == ("put_sacks_id", False)
    assert put.body is not None
    assert (put.body.is_required, put.body.content_type) == (True, "application/json")


def test_equal_ids_become_unique() -> None:
    paths = {f"/{name}": {"get": {"operationId": "read"}} for name in "abc"}
    api = _api(msgspec.json.encode({"paths": paths}).decode())
    assert [each.id for each in api.operations] == ["read", "read_2", "read_3"]


def test_a_schema_that_contains_itself_ends() -> None:
    body = _operation("PUT").body
    assert body is not None
    assert body.schema["properties"]["inner"] == {}


def test_schemas_that_double_at_each_level_stay_small() -> None:
    schemas = {
        f"S{level}": {"properties": {side: {"$ref": f"#/components/schemas/S{level + 1}"} for side in "ab"}}
        for level in range(40)
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    document = {"paths": {"/": {"put": {"requestBody": {"content": content}}}}, "components": {"schemas": schemas}}
    (operation,) = _api(msgspec.json.encode(document).decode()).operations
    assert len(msgspec.json.encode(operation.body)) < 100_000


def test_there_is_a_limit_on_operations() -> None:
    document: JsonObject = {"paths": {f"/{count}": {"get": {}} for count in range(MAX_OPERATIONS + 5)}}
    assert len(_api(msgspec.json.encode(document).decode()).operations) == MAX_OPERATIONS


def test_another_document_has_no_operations() -> None:
    assert read_api({"a.proto": b'syntax = "proto3";'}, "a.proto") is None
    assert read_api({}, "a.yaml") is None


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just({"$ref": "#/paths"}),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *METHODS,
                    "parameters",
                    "requestBody",
                    "content",
                    "application/json",
                    "schema",
                    "$ref",
                    "responses",
                    "name",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=5), _json, max_size=3), _json)
def test_a_malformed_document_is_read_as_far_as_it_goes(paths: dict[str, Any], components: Any) -> None:
    data = msgspec.json.encode({"paths": paths, "components": components, "info": components, "servers": components})
    assert read_api({"a.json": data}, "a.json") is not None
