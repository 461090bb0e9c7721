"""The Model Context Protocol over any transport: one JSON-RPC message in, at most one out.

Both eras of the protocol are served, and told apart by each message: up to 2025-11-25 a client opens with `initialize`;
since 2026-07-28 each request carries its version in `_meta`, and there is no session. This server keeps no state
between messages in either, so that both need the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat import __version__
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.web.kit.large_body import is_in_thread, read_large
from homeostat.web.mcp.tool import Tool

LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = ("2026-07-28",)
VERSIONS: Final = (*reversed(MODERN), *reversed(LEGACY))
"""Newest first."""
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
MAX_BATCH: Final = 50
"""Messages of one batch, which the version 2025-03-26 has."""
_FRESH_MS: Final = 60_000

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
UNSUPPORTED_VERSION: Final = -32022


class RpcError(Exception):
    """An error of the protocol, not of a tool."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data

    def body(self, id_: Json = None) -> JsonObject:
        error: JsonObject = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": id_, "error": error}


class Message(msgspec.Struct, frozen=True):
    """A request or a notification."""

    method: str
    params: JsonObject
    id: str | int | None = None
    is_notification: bool = False

    @property
    def meta(self) -> JsonObject:
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def version(self) -> str:
        """The version that the request declares; empty for one of the era with `initialize`."""
        found = self.meta.get(VERSION_KEY)
        return found if isinstance(found, str) else ""


class McpServer:
    def __init__(self, tools: Sequence[Tool], *, instructions: str) -> None:
        self._tools = {each.name: each for each in tools}
        self._instructions = instructions

    async def answer(self, data: bytes) -> Json:
        """Answer a message, or a batch of them; None if there is nothing to answer."""
        try:
            value = await decoded(data)
        except RpcError as error:
            return error.body()
        return await self.answer_decoded(value)

    async def answer_decoded(self, value: Json) -> Json:
        if not isinstance(value, list):
            return await self._one(value)
        if not value or len(value) > MAX_BATCH:
            return RpcError(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages").body()
        answers = [answer for each in value if (answer := await self._one(each)) is not None]
        return answers or None

    async def _one(self, value: Json) -> JsonObject | None:
        try:
            message = read_message(value)
        except RpcError as error:
            return error.body(value.get("id") if isinstance(value, dict) else None)
        if message is None or message.is_notification:
            return None
        try:
            return {"jsonrpc": "2.0", "id": message.id, "result": await self.result(message)}
        except RpcError as error:
            return error.body(message.id)

    async def result(self, message: Message) -> JsonObject:
        """Raises `RpcError`."""
        is_modern = self._is_modern(message)
        match message.method:
            case "initialize" if not is_modern:
                return self._initialized(message.params)
            case "ping" if not is_modern:
                return {}
            case "server/discover":
                return _complete({"supportedVersions": list(VERSIONS), **self._identity(), **_cached()})
            case "tools/list":
                found: JsonObject = {"tools": [each.listed for each in self._tools.values()]}
                return _complete(found | _cached()) if is_modern else found
            case "tools/call":
                called = await self._called(message.params)
                return _complete(called) if is_modern else called
        raise RpcError(METHOD_NOT_FOUND, f'there is no method "{message.method[:100]}"')

    def _is_modern(self, message: Message) -> bool:
        version = message.version
        if not version or version in LEGACY:
            return False
        if version not in MODERN:
            raise unsupported(version)
        if not isinstance(message.meta.get(_CAPABILITIES_KEY), dict):
            raise RpcError(INVALID_PARAMS, f"_meta lacks {_CAPABILITIES_KEY}")
        return True

    def _initialized(self, params: JsonObject) -> JsonObject:
        wanted = params.get("protocolVersion")
        version = wanted if wanted in LEGACY else LEGACY[-1]
        return {"protocolVersion": version, "serverInfo": _server(), **self._identity()}

    def _identity(self) -> JsonObject:
        return {"capabilities": {"tools": {"listChanged": False}}, "instructions": self._instructions}

    async def _called(self, params: JsonObject) -> JsonObject:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f'there is no tool "{str(name)[:100]}"; list them with tools/list')
        if not isinstance(arguments, dict | None):
            raise RpcError(INVALID_PARAMS, "the arguments of a tool are an object")
        return await tool.run(arguments or {})


async def decoded(data: bytes) -> Json:
    """The value of a message, or of a batch of them. Raises `RpcError`."""
    try:
        return await read_large(data, lambda: decode(data, in_pieces=is_in_thread()), user="messages")
    except BadRequestError as error:
        raise RpcError(PARSE_ERROR, str(error)) from error


def read_message(value: Json) -> Message | None:
    """Read a decoded message; None for a response, which this server never waits for. Raises `RpcError`."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'expected an object with "jsonrpc": "2.0"')
    method, params, id_ = value.get("method"), value.get("params"), value.get("id")
    if method is None and ("result" in value or "error" in value):
        return None
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise RpcError(INVALID_REQUEST, "expected a method, and params that are an object")
    if "id" not in value:
        return Message(method, params or {}, is_notification=True)
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise RpcError(INVALID_REQUEST, "the id of a request is a string or a number")
    return Message(method, params or {}, id_)


def unsupported(version: str) -> RpcError:
    data = {"supported": list(VERSIONS), "requested": version[:100]}
    return RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _server() -> JsonObject:
    return {"name": "homeostat", "title": "Homeostat contracts", "version": __version__}


def _complete(result: JsonObject) -> JsonObject:
    return {"resultType": "complete", **result, "_meta": {_SERVER_KEY: _server()}}


def _cached() -> JsonObject:
    return {"ttlMs": _FRESH_MS, "cacheScope": "private"}
