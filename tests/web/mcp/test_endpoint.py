"""The protocol over HTTP, on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from homeostat.edge.server import serve
from homeostat.web.mcp.endpoint import LIMITS, McpEndpoint
from tests.holds import measured_turns
from tests.web.dense import LONGEST_TURN_S, dense_body
from tests.web.mcp.test_server import META, SERVER

CALL = {"name": "shout", "arguments": {"text": "hi"}, "_meta": META}
MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "shout"}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    server = await serve(McpEndpoint(SERVER), limits=LIMITS)
    yield f"http://127.0.0.1:{server.port}/mcp"
    await server.stop(1)


async def post(url: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as response:
        return response.status, await response.json() if response.content_length else None


def message(method: str, params: Any = None, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}, **fields}


async def test_an_older_client_shakes_hands_and_calls(url: str) -> None:
    status, answer = await post(url, message("initialize", {"protocolVersion": "2025-11-25"}))
    assert (status, answer["result"]["protocolVersion"]) == (200, "2025-11-25")
    assert await post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
    call = message("tools/call", {"name": "shout", "arguments": {"text": "hi"}})
    status, answer = await post(url, call, {"MCP-Protocol-Version": "2025-11-25"})
    assert (status, answer["id"], answer["result"]["content"][0]["text"]) == (200, 7, "HI")
    status, answer = await post(url, message("resources/list"))
    assert (status, answer["error"]["code"]) == (200, -32601)


async def test_a_modern_client_calls_at_once(url: str) -> None:
    status, answer = await post(url, message("tools/call", CALL), MODERN)
    assert (status, answer["result"]["content"][0]["text"]) == (200, "HI")
    encoded = {**MODERN, "Mcp-Name": "=?base64?c2hvdXQ=?="}
    assert (await post(url, message("tools/call", CALL), encoded))[0] == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, -32020),
        ({**MODERN, "MCP-Protocol-Version": "2025-11-25"}, -32020),
        ({**MODERN, "Mcp-Method": "tools/list"}, -32020),
        ({**MODERN, "Mcp-Name": "whisper"}, -32020),
        ({**MODERN, "Mcp-Name": "=?base64?%?="}, -32020),
        ({**MODERN, "MCP-Protocol-Version": "2030-01-01"}, -32022),
    ],
)
async def test_headers_that_contradict_the_body_are_refused(url: str, headers: dict[str, str], code: int) -> None:
    status, answer = await post(url, message("tools/call", CALL), headers)
    assert (status, answer["id"], answer["error"]["code"]) == (400, 7, code)


async def test_a_large_message_is_decoded_beside_the_event_loop(url: str) -> None:
    body = dense_body("params")
    async with (
        measured_turns() as turns,
        aiohttp.ClientSession(headers={"Content-Type": "application/json"}) as session,
        session.post(url, data=BytesIO(body)) as response,
    ):
        assert (await response.json())["error"]["code"] == -32600
    assert turns.longest_s < LONGEST_TURN_S


async def test_large_invalid_arguments_hold_up_nobody(url: str) -> None:
    call = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shout",%b}' % dense_body("arguments")[1:]
    async with (
        measured_turns() as turns,
        aiohttp.ClientSession(headers={"Content-Type": "application/json"}) as session,
        session.post(url, data=BytesIO(call)) as response,
    ):
        result = (await response.json())["result"]
    assert result["isError"]
    assert "too long to say where" in result["content"][0]["text"]
    assert turns.longest_s < LONGEST_TURN_S


async def test_a_modern_client_sees_an_unknown_method_in_the_status(url: str) -> None:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/list"}
    status, answer = await post(url, message("resources/list", {"_meta": META}), headers)
    assert (status, answer["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}],
    ids=["a page of another site", "a name that leads here", "a sandboxed page"],
)
async def test_other_sites_are_refused(url: str, headers: dict[str, str]) -> None:
    assert (await post(url, message("ping"), headers))[0] == 403


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_are_no_streams_and_sessions(url: str, method: str) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, url) as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")


async def test_only_json_to_the_one_path_is_read(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(url, data="{}", headers={"Content-Type": "text/plain"}) as response:
            assert response.status == 415
        async with session.post(url, data=b"{", headers={"Content-Type": "application/json"}) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (400, -32700)
        async with session.post(url.removesuffix("mcp"), json={}) as response:
            assert response.status == 404


async def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.post(url, data=BytesIO(b" " * (5 << 20))) as response:
        assert response.status == 413
