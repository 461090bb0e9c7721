"""The OpenAPI document that a service serves, against the one of its contract."""

from __future__ import annotations

import json

import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.checks.served import (
    Wanted,
    check_served,
    compare_document,
    plan_documents,
    served_fields,
)
from homeostat.operators.contracts.engine.document.parse import parse_contract

CONTRACT = parse_contract(
    b'pactoVersion: "1.2"\nservice: {name: mill, version: 1.0.0}\n'
    b"interfaces:\n  - {name: web, type: http, port: 80, contract: api.yaml}\n"
    b"  - {name: bare, type: http, port: 81}\n  - {name: posted, type: event, contract: posted.yaml}\n"
).contract
API: JsonObject = {
    "openapi": "3.1.0",
    "paths": {"/a": {"get": {"responses": {"200": {}}}}, "/b": {"get": {"responses": {"200": {"description": "b"}}}}},
}
FILES = {"api.yaml": json.dumps(API).encode(), "posted.yaml": b"{}"}
OK = Outcome(status_code=200, has_body=True)


def _verdict(served: bytes, outcome: Outcome | None = OK, interface: str = "web") -> tuple[str, str, list[JsonObject]]:
    (document,) = plan_documents(CONTRACT, FILES, [Wanted(interface, "openapi.json")], "mill", "port")
    drift = compare_document(document, FILES, outcome, served)
    verdict = check_served([drift])
    return verdict.status, verdict.reason, served_fields([drift])


def test_the_document_is_read_from_the_service() -> None:
    (document,) = plan_documents(CONTRACT, FILES, [Wanted("web", "/v1/openapi.json")], "mill", "port")
    assert (document.url, document.file) == ("http://mill.port.svc:80/v1/openapi.json", "api.yaml")


@pytest.mark.parametrize(
    ("paths", "status", "counts"),
    [
        pytest.param(API["paths"], "True", (0, 0, 0), id="equal"),
        pytest.param({**API["paths"], "/c": {}}, "True", (0, 0, 1), id="added"),
        pytest.param({"/a": API["paths"]["/a"]}, "False", (1, 0, 0), id="removed"),
        pytest.param({**API["paths"], "/b": {"get": {"responses": {"200": {}}}}}, "True", (0, 1, 0), id="modified"),
        pytest.param({"/b": {"post": {}}}, "False", (2, 0, 1), id="several"),
        pytest.param({**API["paths"], "/a": {"get": {"responses": {200: {}}}}}, "True", (0, 0, 0), id="number"),
    ],
)
def test_only_breaking_changes_fail_the_check(paths: JsonObject, status: str, counts: tuple[int, int, int]) -> None:
    found = _verdict(json.dumps({**API, "paths": paths}).encode())
    assert found[0] == status
    assert tuple(found[2][0][name] for name in ("breaking", "potentiallyBreaking", "nonBreaking")) == counts


@pytest.mark.parametrize(
    ("served", "outcome", "interface", "reason"),
    [
        pytest.param(b"", None, "web", "ProbePending", id="not requested"),
        pytest.param(b"", Outcome(error="refused"), "web", "DocumentUnavailable", id="unreachable"),
        pytest.param(b"<html>", OK, "web", "DocumentUnavailable", id="no document"),
        pytest.param(b"[" * 100_000, OK, "web", "DocumentUnavailable", id="deep"),
        pytest.param(b'{"paths": [1]}', OK, "web", "DocumentUnavailable", id="other paths"),
        pytest.param(b"{}", OK, "bare", "DocumentUnavailable", id="no file"),
        pytest.param(b"{}", OK, "posted", "DocumentUnavailable", id="events"),
        pytest.param(b"{}", OK, "gone", "DocumentUnavailable", id="not declared"),
    ],
)
def test_what_cannot_be_compared_is_unknown(
    served: bytes, outcome: Outcome | None, interface: str, reason: str
) -> None:
    assert _verdict(served, outcome, interface) == ("Unknown", reason, [])


def test_an_inline_contract_has_no_document_to_compare() -> None:
    (document,) = plan_documents(CONTRACT, None, [Wanted("web", "/")], "mill", "port")
    assert "inline" in document.problem


def test_yaml_is_compared_like_json() -> None:
    served = b"openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses: {200: {}}\n"
    assert _verdict(served)[:2] == ("False", "BreakingDrift")
