"""The Model Context Protocol over HTTP: `POST /mcp`, one message a request, answered as JSON.

There are no credentials, so only this machine is served, and no web page of another site: the Host and Origin headers
are checked. There are no sessions and no streams; what older clients do with them (GET, DELETE) is answered 405.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable
from typing import Final

from homeostat.edge.limits import Limits
from homeostat.edge.loopback import refusal_of
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import Json, encode
from homeostat.web.mcp.server import (
    METHOD_NOT_FOUND,
    MODERN,
    VERSIONS,
    McpServer,
    RpcError,
    decoded,
    read_message,
    unsupported,
)

PATH: Final = "/mcp"
LIMITS: Final = Limits(body_bytes=4 << 20, bodies_bytes=64 << 20, max_connections=256)
HEADER_MISMATCH: Final = -32020
_NO_SNIFF: Final = (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"))


class McpEndpoint:
    def __init__(self, server: McpServer) -> None:
        self._server = server

    def __call__(self, request: Request) -> Reply | Awaitable[Reply]:
        if problem := refusal_of(request.method, request.headers):
            return _refused(403, problem)
        if request.path != PATH:
            return _refused(404, f"the endpoint is {PATH}")
        if request.method != "POST":
            return Reply(405, b"", "", (("Allow", "POST"), *_NO_SNIFF))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _refused(415, "the Content-Type of a message is application/json")
        return self._answer(request, request.headers.get("mcp-protocol-version", ""))

    async def _answer(self, request: Request, version: str) -> Reply:
        try:
            value = await decoded(request.body)
        except RpcError as error:
            return Reply(400, encode(error.body()), headers=_NO_SNIFF)
        if version and version not in VERSIONS:
            return Reply(400, encode(unsupported(version).body(_id_of(value))), headers=_NO_SNIFF)
        if problem := _mismatch(request, value, version):
            return Reply(400, encode(RpcError(HEADER_MISMATCH, problem).body(_id_of(value))), headers=_NO_SNIFF)
        found = await self._server.answer_decoded(value)
        if found is None:
            return Reply(202, b"", "", _NO_SNIFF)
        return Reply(_status(found, is_modern=version in MODERN), encode(found), headers=_NO_SNIFF)


def _status(answer: Json, *, is_modern: bool) -> int:
    """Older versions answer every message that could be read with 200."""
    code = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
    if code is None or (not is_modern and answer.get("id") is not None):
        return 200
    return 404 if code == METHOD_NOT_FOUND else 400


def _mismatch(request: Request, value: Json, version: str) -> str:
    """Why the headers contradict the body; empty if they do not. Only modern requests repeat themselves in headers."""
    try:
        message = read_message(value)
    except RpcError:
        # The server reports what is wrong with the body.
        return ""
    if message is None or message.is_notification or (version not in MODERN and message.version not in MODERN):
        return ""
    if not version:
        return "the header MCP-Protocol-Version is missing"
    if version != message.version:
        return f"MCP-Protocol-Version is {version}, and the body declares {message.version[:100] or 'no version'}"
    if request.headers.get("mcp-method") != message.method:
        return f"the header Mcp-Method must be {message.method[:100]}"
    name = message.params.get("name")
    if message.method == "tools/call" and _decoded(request.headers.get("mcp-name", "")) != name:
        return "the header Mcp-Name must be the name of the tool"
    return ""


def _decoded(value: str) -> str:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _id_of(value: Json) -> Json:
    try:
        message = read_message(value)
    except RpcError:
        return None
    return None if message is None else message.id


def _refused(status: int, problem: str) -> Reply:
    return Reply(status, encode({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": problem}}))
