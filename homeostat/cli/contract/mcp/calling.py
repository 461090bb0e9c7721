"""Calls an operation of a service with the arguments of a model.

The model chooses values, never where they are sent: the base URL is fixed, values cannot add steps to the path, headers
that identify the caller or frame the message cannot be set, and redirects are returned and not followed.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import RestError
from homeostat.external.rest.request import Request, Response
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.operators.contracts.engine.openapi.operation import JSON, Operation, Parameter
from homeostat.operators.contracts.engine.views.status import as_text
from homeostat.web.mcp.tool import ToolError

TIMEOUT_S: Final = 30.0
MAX_ANSWER_BYTES: Final = 1 << 20
_BODY: Final = "body"
_OWN_HEADERS: Final = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "expect", "host"),
        *("proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_STEPS: Final = (".", "..")


def call_schema(operation: Operation) -> JsonObject:
    """The arguments of a tool: parameters by name, and `body`."""
    properties: JsonObject = {}
    required = []
    for name, each in _arguments(operation).items():
        described = {"description": each.description} if each.description else {}
        properties[name] = {**each.schema, **described}
        required += [name] if each.is_required else []
    if operation.body is not None:
        described = {"description": operation.body.description} if operation.body.description else {}
        properties[_BODY] = {**operation.body.schema, **described}
        required += [_BODY] if operation.body.is_required else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class Caller:
    def __init__(self, client: RestClient, base_url: str, identity: tuple[dict[str, str], dict[str, str]]) -> None:
        self._client, self._base_url = client, base_url
        self._headers, self._query = identity

    async def call(self, operation: Operation, arguments: JsonObject) -> Json:
        try:
            response = await self._client.send(self._request(operation, arguments))
        except RestError as error:
            raise ToolError(f"{operation.method} {operation.path}: {error}") from error
        found = {"status": response.status, "body": _body(response)}
        if response.status >= 400:
            shown = found["body"] if isinstance(found["body"], str) else encode(found["body"]).decode()
            raise ToolError(f"{operation.method} {operation.path} answered {response.status}: {shown}")
        return found

    def _request(self, operation: Operation, arguments: JsonObject) -> Request:
        path, query, headers = operation.path, list(self._query.items()), {"Accept": JSON}
        for name, each in _arguments(operation).items():
            if name not in arguments:
                continue
            value = arguments[name]
            match each.place:
                case "path":
                    path = path.replace(f"{{{each.name}}}", _step(each.name, value))
                case "query":
                    values = value if isinstance(value, list) else [value]
                    query += [(each.name, as_text(item)) for item in values]
                case "header":
                    headers[each.name] = _header(each.name, value)
        body = None
        if operation.body is not None and _BODY in arguments:
            headers["Content-Type"] = operation.body.content_type
            value = arguments[_BODY]
            is_text = isinstance(value, str) and not operation.body.content_type.endswith("json")
            body = value.encode() if is_text else encode(value)
        url = f"{self._base_url}/{path.lstrip('/')}{f'?{urlencode(query)}' if query else ''}"
        return Request(
            operation.method,
            url,
            headers={**headers, **self._headers},
            body=body,
            timeout_s=TIMEOUT_S,
            largest=MAX_ANSWER_BYTES,
        )


def _arguments(operation: Operation) -> dict[str, Parameter]:
    """Parameters by the name of their argument; cookies and the headers that are ours are left out."""
    found: dict[str, Parameter] = {}
    for each in operation.parameters:
        if each.place == "cookie" or (each.place == "header" and each.name.lower() in _OWN_HEADERS):
            continue
        name = each.name if each.name not in found and each.name != _BODY else f"{each.place}_{each.name}"
        found[name] = each
    return found


def _step(name: str, value: Json) -> str:
    """One step of the path: a value with slashes or dots would lead to another operation."""
    text = as_text(value)
    if not text or text in _STEPS:
        raise ToolError(f'"{name}" must not be empty, "." or ".."')
    return quote(text, safe="")


def _header(name: str, value: Json) -> str:
    text = as_text(value)
    if not text.isascii() or not text.isprintable():
        raise ToolError(f'"{name}" may hold printable ASCII characters only')
    return text


def _body(response: Response) -> Json:
    if response.headers.get("content-type", "").partition(";")[0].strip().endswith("json"):
        try:
            return decode(response.body)
        except BadRequestError:
            pass
    return response.body.decode(errors="replace")
