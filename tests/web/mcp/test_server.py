"""The protocol without a transport: messages in, answers out, in both eras."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject
from homeostat.web.mcp.server import LEGACY, MAX_BATCH, VERSIONS, McpServer
from homeostat.web.mcp.tool import MAX_RESULT_BYTES, Tool, ToolError

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


async def _shout(arguments: JsonObject) -> Any:
    text = arguments["text"]
    if text == "secret":
        raise ToolError("say something else")
    return text.upper() if text != "json" else {"said": text}


SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SHOUT = Tool(name="shout", title="Shout", description="Says it loudly.", input_schema=SCHEMA, call=_shout)
SERVER = McpServer([SHOUT], instructions="Shout.")


async def ask(method: str, params: Any = None, **fields: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **fields}
    return await SERVER.answer(msgspec.json.encode(body))


@pytest.mark.parametrize(
    ("wanted", "version"), [*((each, each) for each in LEGACY), ("1900-01-01", LEGACY[-1]), (None, LEGACY[-1])]
)
async def test_the_handshake_agrees_on_a_version(wanted: str | None, version: str) -> None:
    result = (await ask("initialize", {"protocolVersion": wanted}))["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (version, "homeostat")
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert (await ask("ping"))["result"] == {}


async def test_a_modern_client_discovers_without_a_handshake() -> None:
    result = (await ask("server/discover", {"_meta": META}))["result"]
    assert result["supportedVersions"] == list(VERSIONS)
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    listed = (await ask("tools/list", {"_meta": META}))["result"]
    assert (listed["resultType"], [each["name"] for each in listed["tools"]]) == ("complete", ["shout"])
    called = (await ask("tools/call", {"_meta": META, "name": "shout", "arguments": {"text": "hi"}}))["result"]
    assert (called["resultType"], called["content"][0]["text"]) == ("complete", "HI")


async def test_an_unknown_version_is_refused_with_those_that_are_known() -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    error = (await ask("tools/list", {"_meta": meta}))["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": list(VERSIONS), "requested": "2030-01-01"})


async def test_a_modern_request_names_the_capabilities_of_its_client() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    assert (await ask("tools/list", {"_meta": meta}))["error"]["code"] == -32602


async def test_a_tool_is_listed_with_what_it_does_to_the_world() -> None:
    (tool,) = (await ask("tools/list"))["result"]["tools"]
    assert tool["inputSchema"] == SCHEMA
    assert tool["annotations"] == {"title": "Shout", "readOnlyHint": True, "openWorldHint": False}


@pytest.mark.parametrize(
    ("arguments", "is_error", "text"),
    [
        ({"text": "hi"}, False, "HI"),
        ({"text": "secret"}, True, "say something else"),
        ({}, True, 'the arguments are invalid: "text" is a required property'),
        ({"text": 5}, True, "the arguments are invalid: at '/text': 5 is not of type \"string\""),
    ],
)
async def test_a_call_answers_the_model_also_when_it_fails(arguments: Any, is_error: bool, text: str) -> None:
    result = (await ask("tools/call", {"name": "shout", "arguments": arguments}))["result"]
    assert (result["isError"], result["content"]) == (is_error, [{"type": "text", "text": text}])


async def test_json_is_returned_as_data_and_as_text() -> None:
    result = (await ask("tools/call", {"name": "shout", "arguments": {"text": "json"}}))["result"]
    assert result["structuredContent"] == msgspec.json.decode(result["content"][0]["text"]) == {"said": "json"}


async def test_a_long_result_is_cut() -> None:
    result = (await ask("tools/call", {"name": "shout", "arguments": {"text": "a" * 2 * MAX_RESULT_BYTES}}))["result"]
    assert len(result["content"][0]["text"]) < MAX_RESULT_BYTES + 100


async def test_nested_data_are_not_indented_to_a_multiple_of_their_size() -> None:
    nested: Any = [1] * 100_000
    for _ in range(150):
        nested = [nested]

    async def call(_: JsonObject) -> JsonObject:
        return {"found": nested}

    result = await Tool(name="a", title="A", description="", input_schema={}, call=call).run({})
    assert msgspec.json.decode(result["content"][0]["text"]) == result["structuredContent"]
    nested *= 6
    result = await Tool(name="a", title="A", description="", input_schema={}, call=call).run({})
    assert "structuredContent" not in result
    assert "[cut after" in result["content"][0]["text"]


async def test_long_data_of_wide_characters_say_that_they_are_cut() -> None:
    async def call(_: JsonObject) -> JsonObject:
        return {"found": "ä" * MAX_RESULT_BYTES}

    result = await Tool(name="a", title="A", description="", input_schema={}, call=call).run({})
    text = result["content"][0]["text"]
    assert "ä\n[cut after" in text
    assert len(text.encode()) < MAX_RESULT_BYTES + 100


async def test_an_unknown_method_is_named_shortly() -> None:
    assert len((await ask("a" * 1_000))["error"]["message"]) < 200


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "none"}, -32602),
        ("tools/call", {"name": "shout", "arguments": []}, -32602),
        ("resources/list", {}, -32601),
        ("initialize", {"_meta": META}, -32601),
    ],
)
async def test_a_wrong_request_is_an_error_of_the_protocol(method: str, params: Any, code: int) -> None:
    assert (await ask(method, params))["error"]["code"] == code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", -32700),
        (b"5", -32600),
        (b'{"method": "ping", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "method": "ping", "id": true}', -32600),
        (b'{"jsonrpc": "2.0", "method": "ping", "id": 1, "params": []}', -32600),
        (b"[]", -32600),
        (b"[" + b",".join([b"1"] * (MAX_BATCH + 1)) + b"]", -32600),
    ],
)
async def test_what_is_no_message_is_refused(data: bytes, code: int) -> None:
    assert (await SERVER.answer(data))["error"]["code"] == code


async def test_notifications_and_responses_are_not_answered() -> None:
    assert await SERVER.answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None
    assert await SERVER.answer(b'{"jsonrpc": "2.0", "id": 1, "result": {}}') is None


async def test_a_batch_is_answered_together() -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    answers = await SERVER.answer(msgspec.json.encode([{**ping, "id": "a"}, ping, {**ping, "id": "b"}]))
    assert [each["id"] for each in answers] == ["a", "b"]


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["2.0", "tools/call", "initialize", "shout"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "_meta"]), inner)
    ),
    max_leaves=12,
)


@given(_json)
async def test_no_message_breaks_the_server(value: Any) -> None:
    answer = await SERVER.answer(msgspec.json.encode(value))
    for each in answer if isinstance(answer, list) else [answer] if answer is not None else []:
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) != ("error" in each)
