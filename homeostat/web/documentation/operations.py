"""The page of an interface with an OpenAPI document: each operation with its parameters, body, answers and a call.

This is our own rendering: it needs no script and no other site, so it also works from a file.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.operators.contracts.engine.document.contract import Interface
from homeostat.operators.contracts.engine.openapi.operation import Api, Body, Operation
from homeostat.operators.contracts.engine.views.status import as_text
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.documentation.frame import Link, anchor, badge, code, section, table

_MOST_ROWS = 200
_MOST_NESTED = 6
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "somebody@example.org",
    "uri": "https://example.org/",
}


def interface_content(interface: Interface, api: Api, *, target: str) -> tuple[list[Node], list[Link]]:
    """Return the content of the page, and its sections. `target` is the base URL of the example calls."""
    groups = [
        (tag or "Operations", list(found))
        for tag, found in groupby(sorted(api.operations, key=lambda each: each.tag), key=lambda each: each.tag)
    ]
    port = None if interface.port is None else badge(f"port {interface.port}")
    visibility = badge(interface.visibility) if interface.visibility else None
    top: list[Node] = [
        el("h1", api.title or interface.name),
        el("div", badge(interface.type, "busy"), port, visibility, _version(api), class_="badges"),
        el("p", api.description, class_="lead") if api.description else None,
    ]
    shown = [section(name, [_operation(each, target) for each in found]) for name, found in groups]
    if not shown:
        shown = [section("Operations", el("p", "The document declares no operations.", class_="soft"))]
    return [*top, *shown], [(name, f"#{anchor(name)}") for name, _ in groups]


def _version(api: Api) -> Node:
    return badge(f"version {api.version}") if api.version else None


def _operation(operation: Operation, target: str) -> Markup:
    path = el("span", operation.path, class_="path gone" if operation.is_deprecated else "path")
    summary = el(
        "summary",
        el("span", operation.method, class_=f"method {operation.method}"),
        path,
        el("span", operation.summary, class_="soft"),
        badge("deprecated", "warn") if operation.is_deprecated else None,
    )
    return el("details", summary, list(_parts(operation, target)), id=operation.id)


def _parts(operation: Operation, target: str) -> Iterator[Node]:
    if operation.description and operation.description != operation.summary:
        yield el("p", operation.description)
    if operation.parameters:
        rows = [
            (code(each.name), each.place, shape(each.schema), _need(each.is_required), each.description)
            for each in operation.parameters
        ]
        yield el("h4", "Parameters")
        yield table(("Name", "In", "Type", "", "Description"), rows)
    if operation.body is not None:
        yield el("h4", f"Body ({operation.body.content_type})")
        yield _fields(operation.body.schema)
    if operation.answers:
        rows_of = [(code(each.code), each.description, shape(each.schema)) for each in operation.answers]
        yield el("h4", "Answers")
        yield table(("Code", "Description", "Type"), rows_of)
        for each in operation.answers:
            if each.schema.get("properties"):
                yield el("h4", f"Fields of {each.code}")
                yield _fields(each.schema)
    yield el("h4", "Call")
    yield el("pre", example(operation, target))


def _need(is_required: bool) -> Node:
    return badge("required", "warn") if is_required else None


def _fields(schema: JsonObject) -> Node:
    rows = list(_rows(schema, "", 0))[:_MOST_ROWS]
    if not rows:
        return el("p", shape(schema) or "any JSON", class_="soft")
    return table(("Field", "Type", "", "Description"), rows)


def _rows(schema: JsonObject, path: str, depth: int) -> Iterator[Sequence[Node]]:
    properties, required = schema.get("properties"), schema.get("required")
    for name, value in properties.items() if isinstance(properties, dict) and depth < _MOST_NESTED else ():
        each = value if isinstance(value, dict) else {}
        place = f"{path}{name}"
        is_required = isinstance(required, list) and name in required
        yield code(place), shape(each), _need(is_required), as_text(each.get("description") or "")
        items = each.get("items")
        if isinstance(items, dict):
            yield from _rows(items, f"{place}[].", depth + 1)
        yield from _rows(each, f"{place}.", depth + 1)


def shape(schema: JsonObject) -> str:
    """A schema in a few words: `string (date-time)`, `a or b`, `list of integer`."""
    for name in ("oneOf", "anyOf"):
        if isinstance(schema.get(name), list):
            words = [shape(each) for each in schema[name][:5] if isinstance(each, dict)]
            return " or ".join(dict.fromkeys(each or "any" for each in words))
    if isinstance(schema.get("enum"), list):
        return " or ".join(as_text(each) for each in schema["enum"][:12])
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"list of {shape(items) or 'any'}" if isinstance(items, dict) else "list"
    kinds = schema.get("type")
    text = " or ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds or "")
    form = schema.get("format")
    return f"{text} ({form})" if text and isinstance(form, str) else text


def example(operation: Operation, target: str) -> str:
    """Return a call of the operation for a shell."""
    words = ["curl"]
    if operation.method != "GET":
        words += ["-X", operation.method]
    needed = [each for each in operation.parameters if each.is_required]
    query = "&".join(f"{each.name}={sample(each.schema)}" for each in needed if each.place == "query")
    words.append(shlex.quote(f"{target.rstrip('/')}{operation.path}{f'?{query}' if query else ''}"))
    for each in needed:
        if each.place == "header":
            words += ["-H", shlex.quote(f"{each.name}: {sample(each.schema)}")]
    if operation.body is not None:
        words += _body(operation.body)
    return " ".join(words)


def _body(body: Body) -> list[str]:
    value = sample(body.schema)
    text = value if isinstance(value, str) else encode(value).decode()
    return ["-H", shlex.quote(f"Content-Type: {body.content_type}"), "-d", shlex.quote(text)]


def sample(schema: JsonObject, depth: int = 0) -> Json:
    """Return a value that the schema may allow: its example, default or a value of its type."""
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    options = schema.get("enum") or schema.get("examples")
    if isinstance(options, list) and options:
        return options[0]
    match schema.get("type"):
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case "array":
            items = schema.get("items")
            return [sample(items, depth + 1)] if isinstance(items, dict) and depth < _MOST_NESTED else []
        case "string":
            return _FORMATS.get(str(schema.get("format")), "string")
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth >= _MOST_NESTED:
        return {}
    return {name: sample(each, depth + 1) for name, each in properties.items() if isinstance(each, dict)}
