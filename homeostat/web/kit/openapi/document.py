"""The OpenAPI 3.1 document of an API, generated from its routes and from the structs of its bodies and queries.

The `Operation` of a route describes its request and its responses. Pages outside the API, such as those for people, are
not in the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from homeostat import __version__
from homeostat.objects.json import JsonObject
from homeostat.web.kit.routing import API, Route

_REFS: Final = "#/components/schemas/{name}"
_DESCRIPTIONS: Final = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "Deleted",
    400: "Invalid plugin, type or spec",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    409: "Already exists, in use, or a concurrent change",
    412: "The object was changed meanwhile",
    413: "Too large",
    422: "A field is invalid",
    429: "Too many failed logins",
    500: "Internal error",
    502: "The control plane refused this server",
    503: "Unavailable",
}
_ALWAYS: Final = (500, 502, 503)
_NUMBERS: Final = frozenset({"id", "permission"})


class Problem(msgspec.Struct):
    loc: list[str | int]
    msg: str
    type: str


class Refusal(msgspec.Struct):
    detail: str | list[Problem]
    request_id: str = ""


class Operation(msgspec.Struct, frozen=True):
    """`who` is the required permission. `answer` is the type of the response: None for an empty body, a tuple for
    alternatives.
    """

    summary: str
    who: str
    answer: Any = None
    status: int = 200
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    refusals: tuple[int, ...] = ()
    example: JsonObject = {}
    media: str = "application/json"
    is_conditional: bool = False
    """Accepts `If-Match`."""


@dataclass(frozen=True, slots=True)
class About:
    """The title of an API, and the description of each of its operations."""

    title: str
    description: str
    operations: Mapping[Route, Operation]


_CALLERS: Final = {
    "anyone": "Needs no credentials.",
    "known": "For everybody who is signed in.",
    "admin": "For administrators.",
}
_PLAIN: Final = Operation("", "known")


def document(routes: Iterable[Route], about: About) -> JsonObject:
    operations = about.operations
    shown = [each for each in routes if each in operations or each[1].startswith(f"{API}/")]
    schemas = _Schemas(operations.get(each, _PLAIN) for each in shown)
    paths: JsonObject = {}
    for method, pattern in shown:
        operation = operations.get((method, pattern), _PLAIN)
        paths.setdefault(pattern, {})[method.lower()] = _operation(method, pattern, operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about.title,
            "version": __version__,
            "description": about.description,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The JSON Schema of each struct, as a shared component."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        types: list[Any] = [Refusal]
        for each in operations:
            answers = each.answer if isinstance(each.answer, tuple) else (each.answer,)
            types += [found for found in (*answers, each.body, each.query) if found is not None]
        made, components = msgspec.json.schema_components(types, ref_template=_REFS)
        self.components: JsonObject = _portable(components)
        self._by_type = dict(zip(map(repr, types), made, strict=True))

    def of(self, shape: Any) -> JsonObject:
        if isinstance(shape, tuple):
            return {"anyOf": [self.of(each) for each in shape]}
        return self._by_type[repr(shape)]

    def fields(self, shape: type[msgspec.Struct]) -> tuple[JsonObject, list[str]]:
        found = self.components[shape.__name__]
        return found["properties"], found.get("required", [])


def _portable(schema: Any) -> Any:
    r"""With patterns for other regex engines: only Python has `\Z`."""
    if isinstance(schema, dict):
        found = {name: _portable(each) for name, each in schema.items()}
        if isinstance(found.get("pattern"), str):
            found["pattern"] = found["pattern"].replace(r"\Z", "$")
        return found
    return [_portable(each) for each in schema] if isinstance(schema, list | tuple) else schema


def _operation(method: str, pattern: str, operation: Operation, schemas: _Schemas) -> JsonObject:
    described: JsonObject = {
        "operationId": operation_id(method, pattern),
        "summary": operation.summary,
        "description": _CALLERS.get(operation.who, f"Required permission: {operation.who}."),
        "tags": [_tag(pattern)],
        "parameters": [*_of_path(pattern), *_of_query(operation, schemas), *_of_headers(operation)],
        "responses": _responses(operation, schemas),
    }
    if operation.who == "anyone":
        described["security"] = [{}]
    if operation.body is not None:
        content: JsonObject = {"schema": schemas.of(operation.body)}
        if operation.example:
            content["example"] = operation.example
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    return described


def operation_id(method: str, pattern: str) -> str:
    words = [each.strip("{}").replace("-", "_") for each in pattern.removeprefix(API).split("/") if each]
    below = "" if pattern.startswith(API) else "root_"
    return "_".join([method.lower(), below + words[0], *words[1:]] if words else [method.lower(), "root"])


def _tag(pattern: str) -> str:
    return pattern.removeprefix(API).removeprefix("/api/").strip("/").partition("/")[0]


def _of_path(pattern: str) -> list[JsonObject]:
    names = [each[1:-1] for each in pattern.split("/") if each.startswith("{")]
    number = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
    # Two dots would make another path.
    text = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9][A-Za-z0-9.-]*$"}
    return [
        {"name": each, "in": "path", "required": True, "schema": number if each in _NUMBERS else text} for each in names
    ]


def _of_query(operation: Operation, schemas: _Schemas) -> list[JsonObject]:
    if operation.query is None:
        return []
    properties, required = schemas.fields(operation.query)
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: JsonObject) -> JsonObject:
    """A query has no null: an absent parameter is left out."""
    rest = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not rest:
        return schema
    return rest[0] if len(rest) == 1 else {**schema, "anyOf": rest}


def _of_headers(operation: Operation) -> list[JsonObject]:
    names = ["If-Match"] if operation.is_conditional else []
    names += ["Last-Event-ID"] if operation.media != "application/json" else []
    return [{"name": each, "in": "header", "required": False, "schema": {"type": "string"}} for each in names]


def _responses(operation: Operation, schemas: _Schemas) -> JsonObject:
    codes = {operation.status, *operation.refusals, *_ALWAYS}
    if operation.who != "anyone":
        codes |= {401, 403}
    elif operation.body is not None:
        codes.add(401)
    return {str(code): _response(code, operation, schemas) for code in sorted(codes)}


def _response(code: int, operation: Operation, schemas: _Schemas) -> JsonObject:
    described: JsonObject = {"description": _DESCRIPTIONS[code]}
    if code >= 400:
        is_health = code == 503 and operation.who == "anyone" and operation.body is None
        shape = {"anyOf": [schemas.of(Refusal), schemas.of(operation.answer)]} if is_health else schemas.of(Refusal)
        return {**described, "content": {"application/json": {"schema": shape}}}
    if operation.answer is None:
        return described
    # A stream as a whole is not JSON; each of its events is.
    key = "x-event-schema" if operation.media != "application/json" else "schema"
    shape = schemas.of(operation.answer)
    return {**described, "content": {operation.media: {key: shape} if key == "schema" else {"schema": {}, key: shape}}}
