"""The operations of an OpenAPI document as values. Pure.

The document comes from outside and may be malformed anywhere: what cannot be read is omitted, and reading never fails.
References inside the document are followed, references to other documents are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.diff.openapi import METHODS, read_specification
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.openapi.reference import Resolver

MAX_OPERATIONS: Final = 500
"""Of one document; further ones are not shown and not called."""
JSON: Final = "application/json"
_READING: Final = ("GET", "HEAD", "OPTIONS")
_other_characters = re.compile(r"[^A-Za-z0-9_.-]+").sub


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    place: str
    """`path`, `query`, `header` or `cookie`."""
    is_required: bool = False
    description: str = ""
    schema: JsonObject = {}


class Body(msgspec.Struct, frozen=True, kw_only=True):
    content_type: str
    is_required: bool = False
    description: str = ""
    schema: JsonObject = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    description: str = ""
    content_type: str = ""
    schema: JsonObject = {}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    """In capitals."""
    path: str
    id: str
    """The `operationId`, or a name made of method and path. Unique in the document."""
    summary: str = ""
    description: str = ""
    tag: str = ""
    is_deprecated: bool = False
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    answers: tuple[Answer, ...] = ()

    @property
    def is_reading(self) -> bool:
        return self.method in _READING


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """How a caller identifies itself."""

    type: str
    """`http`, `apiKey`, `oauth2`, `openIdConnect` or `mutualTLS`."""
    scheme: str = ""
    """Of `http`: `bearer`, `basic`."""
    place: str = ""
    """Of `apiKey`: `header`, `query` or `cookie`."""
    name: str = ""


class Api(msgspec.Struct, frozen=True, kw_only=True):
    title: str = ""
    version: str = ""
    description: str = ""
    servers: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    schemes: dict[str, Scheme] = {}


def read_api(files: Files, name: str) -> Api | None:
    """Read the OpenAPI document of an interface; None if the file is missing or is something else."""
    document = read_specification(files, name)
    if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
        return None
    info, servers = _map(document.get("info")), _list(document.get("servers"))
    return Api(
        title=_text(info.get("title")),
        version=_text(info.get("version")),
        description=_text(info.get("description")),
        servers=tuple(url for each in servers if (url := _text(_map(each).get("url")))),
        operations=_operations(document),
        schemes=_schemes(document),
    )


def _schemes(document: JsonObject) -> dict[str, Scheme]:
    resolver = Resolver(document)
    found = {}
    for name, value in _map(_map(document.get("components")).get("securitySchemes")).items():
        each = resolver.follow(value)
        found[str(name)] = Scheme(
            type=_text(each.get("type")),
            scheme=_text(each.get("scheme")).lower(),
            place=_text(each.get("in")),
            name=_text(each.get("name")),
        )
    return found


def _operations(document: JsonObject) -> tuple[Operation, ...]:
    found: list[Operation] = []
    names: dict[str, int] = {}
    resolver = Resolver(document)
    for path, item in document["paths"].items():
        shared = resolver.follow(item)
        for method in METHODS:
            if isinstance(shared.get(method), dict) and len(found) < MAX_OPERATIONS:
                operation = _operation(resolver, str(path), method, shared)
                count = names[operation.id] = names.get(operation.id, 0) + 1
                unique = operation.id if count == 1 else f"{operation.id}_{count}"
                found.append(msgspec.structs.replace(operation, id=unique))
    return tuple(found)


def _operation(resolver: Resolver, path: str, method: str, item: JsonObject) -> Operation:
    fields: JsonObject = item[method]
    tags = _list(fields.get("tags"))
    return Operation(
        method=method.upper(),
        path=path,
        id=_other_characters("_", _text(fields.get("operationId")) or f"{method} {path}").strip("_.-")[:100] or method,
        summary=_text(fields.get("summary")),
        description=_text(fields.get("description")),
        tag=_text(tags[0]) if tags else "",
        is_deprecated=fields.get("deprecated") is True,
        parameters=tuple(_parameters(resolver, item, fields)),
        body=_body(resolver, fields.get("requestBody")),
        answers=tuple(_answers(resolver, fields.get("responses"))),
    )


def _parameters(resolver: Resolver, item: JsonObject, fields: JsonObject) -> Iterator[Parameter]:
    """Those of the path, replaced by those of the operation that have the same name and place."""
    found: dict[tuple[str, str], Parameter] = {}
    for each in [*_list(item.get("parameters")), *_list(fields.get("parameters"))]:
        value = resolver.follow(each)
        name, place = _text(value.get("name")), _text(value.get("in"))
        if name and place in ("path", "query", "header", "cookie"):
            found[name, place] = Parameter(
                name=name,
                place=place,
                is_required=place == "path" or value.get("required") is True,
                description=_text(value.get("description")),
                schema=resolver.expand(value.get("schema")),
            )
    return iter(found.values())


def _body(resolver: Resolver, value: Json) -> Body | None:
    fields = resolver.follow(value)
    content = _map(fields.get("content"))
    if not content:
        return None
    content_type = JSON if JSON in content else str(next(iter(content)))
    return Body(
        content_type=content_type,
        is_required=fields.get("required") is True,
        description=_text(fields.get("description")),
        schema=resolver.expand(_map(content[content_type]).get("schema")),
    )


def _answers(resolver: Resolver, value: Json) -> Iterator[Answer]:
    for code, each in _map(value).items():
        fields = resolver.follow(each)
        content = _map(fields.get("content"))
        content_type = JSON if JSON in content else str(next(iter(content), ""))
        yield Answer(
            code=str(code),
            description=_text(fields.get("description")),
            content_type=content_type,
            schema=resolver.expand(_map(content.get(content_type)).get("schema")),
        )


def _map(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
