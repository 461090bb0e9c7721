"""The OpenAPI document of the contracts API says what is served."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import homeostat.web.contracts
from homeostat.plane import Plane
from homeostat.web.contracts.operations import OPERATIONS
from tests.web.contracts.calling import open_api

API = Path(homeostat.web.contracts.__file__).parent
PAGES = [each for each in API.rglob("*.py") if API / "dashboard" not in each.parents]


async def test_every_route_is_described(plane: Plane) -> None:
    async with open_api(plane.client) as api:
        document = (await api.get("/openapi")).body
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == OPERATIONS.keys()
    ids = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("reader", "part"), [("read_body", "body"), ("read_query", "query")])
def test_the_document_is_made_of_the_structs_that_pages_read_with(reader: str, part: str) -> None:
    calls = [node for each in PAGES for node in ast.walk(ast.parse(each.read_text())) if isinstance(node, ast.Call)]
    read = {
        node.args[1].id
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == reader and isinstance(node.args[1], ast.Name)
    }
    assert {shape.__name__ for each in OPERATIONS.values() if (shape := getattr(each, part)) is not None} == read
