"""`/docs`: the operations of an API as an HTML page, each with a command, and with a form that sends it.

It loads nothing from other sites. Its script and its style are a part of it, and the policy allows them by their hash.
Without the script, the page has the commands alone. A token that somebody enters stays in the page.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from html import escape
from pkgutil import get_data
from typing import Final, NamedTuple

import msgspec

from homeostat.edge.reply import Fields
from homeostat.objects.json import Json, JsonObject, encode

_STREAM: Final = "text/event-stream"
_EMPTY: Final[dict[str, Json]] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
_MARK: Final = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0f766e"/>'
    '<path d="M5 17h5l3-8 5 14 3-6h6" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>'
)


def _read(name: str) -> str:
    data = get_data("homeostat.web.kit.openapi", f"static/{name}")
    assert data is not None
    return data.decode()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_STYLE: Final = _read("docs.css")
_SCRIPT: Final = _read("docs.js")
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_hash(_STYLE)}'; script-src 'sha256-{_hash(_SCRIPT)}'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Fields] = (("Content-Security-Policy", _POLICY), ("X-Content-Type-Options", "nosniff"))


class Place(NamedTuple):
    """Where an API is: `origin` of the server, the path that it is `below`, and the path of the page `home`, if the
    server has a dashboard.
    """

    origin: str
    below: str = ""
    home: str = ""


def docs_page(document: JsonObject, place: Place, *, link: str) -> bytes:
    """`link` is the path of the document."""
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = _operation(method.upper(), path, operation, schemas, place)
            by_tag.setdefault(operation["tags"][0], []).append(shown)
    groups = "".join(f'<li><a href="#of-{escape(tag)}">{escape(_words(tag))}</a></li>' for tag in by_tag)
    parts = "".join(
        f'<section id="of-{escape(tag)}"><h2>{escape(_words(tag))}</h2><div class="operations">{"".join(each)}</div>'
        "</section>"
        for tag, each in by_tag.items()
    )
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"{_header(place)}<main><h1>{title}</h1>"
        f'<p class="soft">{escape(document["info"]["description"])} '
        f'<a href="{escape(link)}">OpenAPI document</a></p>'
        f'<ul class="groups" aria-label="Groups of operations">{groups}</ul>{_token()}{parts}</main>'
        f"<script>{_SCRIPT}</script></body></html>"
    ).encode()


def _words(tag: str) -> str:
    return tag.replace("-", " ")


def _header(place: Place) -> str:
    brand = f"{_MARK}Homeostat"
    if not place.home:
        return f'<header><div><span class="brand">{brand}</span></div></header>'
    home = escape(place.home)
    return f'<header><div><a class="brand" href="{home}">{brand}</a><a href="{home}">Dashboard</a></div></header>'


def _token() -> str:
    """The script shows it."""
    return (
        '<div class="token" hidden><label for="token">Token</label>'
        '<input id="token" type="password" autocomplete="off" spellcheck="false">'
        '<p class="note">Sent as Authorization: Bearer with the requests of this page, and kept nowhere. '
        "A server that is open to this machine needs none. The commands read it from the variable TOKEN; if the server "
        "has a certificate of its own plane, add <code>--cacert DATA/pki/ca.crt</code>.</p></div>"
    )


def _operation(method: str, path: str, operation: JsonObject, schemas: JsonObject, place: Place) -> str:
    rows = [
        (each["name"], f"{each['in']}{', required' if each['required'] else ''}, {_shape(each['schema'])}")
        for each in operation["parameters"]
    ]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    rows += _fields(content.get("schema", {}), schemas)
    codes = [(code, each["description"]) for code, each in operation["responses"].items()]
    example = _example(method, path, content.get("example"), operation, place)
    form = _form(method, path, operation, _body(content, schemas) if content else None, place)
    return (
        f'<details id="{escape(operation["operationId"])}">'
        f'<summary><b class="{method}">{method}</b><code>{escape(path)}</code>'
        f"<span>{escape(operation['summary'])}</span></summary>"
        f'<div class="inside"><div><p>{escape(operation["description"])}</p>'
        f"{_table('Parameters and fields', rows)}{_table('Answers', codes)}</div>"
        f'<div><h3>Command</h3><pre class="command" tabindex="0">{escape(example)}</pre>{form}</div></div></details>'
    )


def _form(method: str, path: str, operation: JsonObject, body: str | None, place: Place) -> str:
    """Sends the request; the script shows it."""
    fields = "".join(map(_field, operation["parameters"]))
    area = f'<label>Body<textarea spellcheck="false">{escape(body)}</textarea></label>' if body is not None else ""
    stream = " data-stream" if _is_stream(operation) else ""
    style = "DELETE" if method == "DELETE" else "send"
    return (
        f'<form class="try" data-method="{method}" data-path="{escape(place.below + path)}"{stream} hidden>'
        f'<h3>Try it</h3><div class="fields">{fields}</div>{area}'
        f'<button class="{style}">Send {method}</button><button type="button" class="stop" hidden>Stop</button>'
        '<div class="answer" hidden role="status"><p></p><pre tabindex="0" hidden></pre></div></form>'
    )


def _field(parameter: JsonObject) -> str:
    name, schema = escape(parameter["name"]), parameter["schema"]
    is_required = " required" if parameter["required"] else ""
    where = f'name="{name}" data-in="{escape(parameter["in"])}"{is_required}'
    if "enum" in schema:
        options = "".join(f"<option>{escape(str(each))}</option>" for each in schema["enum"])
        return f"<label>{name}<select {where}><option></option>{options}</select></label>"
    entry = f'<input {where} placeholder="{escape(_shape(schema))}" autocomplete="off" spellcheck="false">'
    return f"<label>{name}{entry}</label>"


def _body(content: JsonObject, schemas: JsonObject) -> str:
    """The example, or the required fields."""
    example = content.get("example")
    if not example:
        schema = schemas.get(content.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
        properties = schema.get("properties", {})
        example = {name: _EMPTY.get(properties.get(name, {}).get("type", "")) for name in schema.get("required", ())}
    return msgspec.json.format(encode(example), indent=2).decode()


def _fields(schema: JsonObject, schemas: JsonObject) -> list[tuple[str, str]]:
    found = schemas.get(schema.get("$ref", "").rpartition("/")[2], {})
    required = found.get("required", ())
    return [
        (name, f"body{', required' if name in required else ''}, {_shape(each)}")
        for name, each in found.get("properties", {}).items()
    ]


def _shape(schema: JsonObject) -> str:
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(str(each) for each in schema["enum"])
    return str(schema.get("type") or schema.get("$ref", "any").rpartition("/")[2])


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    cells = (f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<h3>{title}</h3><table>{''.join(cells)}</table>"


def _is_stream(operation: JsonObject) -> bool:
    return _STREAM in operation["responses"].get("200", {}).get("content", {})


def _example(method: str, path: str, body: JsonObject | None, operation: JsonObject, place: Place) -> str:
    named = {
        "id": "1",
        "permission": "1",
        "type": "Page",
        "version": "v1",
        "name": "Page" if "types" in path else "home",
    }
    for name, value in named.items():
        path = path.replace(f"{{{name}}}", value)
    words = ["curl"]
    words += ["-N"] if _is_stream(operation) else []
    words += ["-X", method] if method != "GET" else []
    words.append(f"{place.origin}{place.below}{path}")
    words += ["-H", "Content-Type: application/json", "-d", encode(body).decode()] if body else []
    return shlex.join(words)
