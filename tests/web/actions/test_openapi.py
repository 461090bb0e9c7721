"""The description of the API: complete, true to what the pages read and answer, and whole without the network."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.runtime.faces.private import NamespaceSecrets
from homeostat.web.actions import answers
from homeostat.web.actions.operations import OPERATIONS
from homeostat.web.kit.openapi.document import operation_id
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.rest import serve_rest

WEB = Path(sys.modules["homeostat.web.actions"].__path__[0]).parent
PAGES = [each for each in WEB.rglob("*.py") if not {"dashboard", "contracts"} & {*each.parts}]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.fixture
async def whole(client: Client) -> AsyncIterator[Api]:
    """All pages, as they are served to users."""
    private = NamespaceSecrets(client, "kube-system")
    async with (
        serve_rest(client, private, namespace="default", environment={}, is_open=True) as server,
        aiohttp.ClientSession() as session,
    ):
        yield Api(session, f"http://127.0.0.1:{server.port}")


async def fetch(api: Api, path: str) -> tuple[str, Any]:
    async with aiohttp.ClientSession() as session, session.get(f"{api.url}{path}") as response:
        assert response.status == 200
        return await response.text(), response.headers


async def test_every_route_is_in_the_document_with_its_particulars(whole: Api) -> None:
    document = (await whole.get("/openapi.json")).body
    told = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    # What is served and not described would be here without a summary.
    assert [route for route, operation in told.items() if not operation["summary"]] == []
    assert told.keys() == OPERATIONS.keys()
    ids = [operation["operationId"] for operation in told.values()]
    assert len(ids) == len(set(ids))
    assert msgspec.json.decode((await fetch(whole, "/openapi.json"))[0]) == document


@pytest.mark.parametrize(("reader", "part"), [("read_body", "body"), ("read_query", "query")])
def test_the_document_is_made_of_the_structs_that_pages_read_with(reader: str, part: str) -> None:
    calls = [node for each in PAGES for node in ast.walk(ast.parse(each.read_text())) if isinstance(node, ast.Call)]
    read = {
        node.args[1].id
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id == reader and isinstance(node.args[1], ast.Name)
    }
    described = {shape.__name__ for each in OPERATIONS.values() if (shape := getattr(each, part)) is not None}
    assert described == read


async def test_all_references_are_there_and_patterns_are_read_by_everybody(whole: Api) -> None:
    document = (await whole.get("/openapi.json")).body
    text = msgspec.json.encode(document).decode()
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert names <= document["components"]["schemas"].keys()
    assert r"\\Z" not in text


async def test_answers_have_the_documented_shapes(whole: Api) -> None:
    made = await whole.made("/resource-types", NOTE_TYPE)
    number = (await whole.made("/resources", note("one")))["id"]
    resource = await whole.becomes(number, "ready")
    history = (await whole.get(f"/resources/{number}/history")).body
    user = await whole.made("/users", {"username": "alice", "password": "correct horse"})
    role = await whole.made("/custom-roles", {"name": "readers", "permissions": [{"operations": ["READ"]}]})
    nodes = (await whole.get("/cluster/nodes")).body
    shapes: list[tuple[Any, type[msgspec.Struct]]] = [
        (made, answers.TypeAnswer),
        (resource, answers.ResourceAnswer),
        (history[0], answers.HistoryAnswer),
        ((await whole.get(f"/resources/{number}/logs")).body, answers.LogsAnswer),
        (user, answers.UserAnswer),
        (role, answers.RoleAnswer),
        (role["permissions"][0], answers.PermissionAnswer),
        (nodes, answers.Nodes),
        (nodes["nodes"][0], answers.Node),
    ]
    for body, shape in shapes:
        msgspec.convert(body, shape)
        assert body.keys() == {each.encode_name for each in msgspec.structs.fields(shape)}, shape


async def test_docs_show_every_operation_with_an_example_and_need_nothing_from_elsewhere(whole: Api) -> None:
    page, headers = await fetch(whole, "/docs")
    for method, path in OPERATIONS:
        assert f'id="{operation_id(method, path)}"' in page
    assert len(re.findall("<pre [^>]+>curl ", page)) == len(OPERATIONS)
    assert f"curl -N {whole.url}/api/v1/resources/1/events" in page
    assert not re.search(r"(?:src|href)=\"?(?:https?:)?//", page)
    assert page.count("<script") == 1
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in headers["Content-Security-Policy"]


async def test_what_a_caller_says_of_the_host_is_no_markup(whole: Api) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{whole.url}/docs", headers={"Host": "x<script>alert(1)</script>"}) as response,
    ):
        assert "<script>alert" not in await response.text()


async def test_schemathesis_finds_no_crash_and_no_answer_of_another_shape(whole: Api, tmp_path: Path) -> None:
    await whole.made("/resource-types", NOTE_TYPE)
    await whole.becomes((await whole.made("/resources", note("one")))["id"], "ready")
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("run", f"{whole.url}/openapi.json", "--phases", "examples,coverage", "--checks", CHECKS),
        # Streams do not end, and there is no directory to ask here.
        *("--exclude-path-regex", "events|ldap", "--max-time", "15", "--request-timeout", "15", "--no-color"),
        "--generation-deterministic",
    ]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=tmp_path)
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()[-6000:]
