"""`/docs`: the operations of an API as an HTML page, with an example each. It loads nothing from other sites."""

from __future__ import annotations

import base64
import hashlib
import shlex
from html import escape
from typing import Final

from homeostat.edge.reply import Fields
from homeostat.objects.json import JsonObject, encode

_STYLE: Final = (
    ":root{color-scheme:light dark;--ink:#17202a;--paper:#f6f7f8;--card:#fff;--soft:#5a6672;--line:#e1e5e9;"
    "--link:#0b6b64;--good:#136c35;--busy:#1d5fc4;--warn:#955f00;--bad:#b91c1c}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6ebef;--paper:#10151a;--card:#181f26;--soft:#9aa7b3;--line:#2a343d;"
    "--link:#5cc9be;--good:#5fd08a;--busy:#82b4ff;--warn:#f0b957;--bad:#ff8a85}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:var(--ink);"
    "background:var(--paper)}a{color:var(--link)}h1{font-size:1.6rem;line-height:1.25}"
    "h2{font-size:1.05rem;margin:2rem 0 .6rem;text-transform:capitalize}"
    "details{background:var(--card);border:1px solid var(--line);margin-top:-1px;padding:0 1rem}"
    "summary{cursor:pointer;padding:.45rem 0;display:flex;flex-wrap:wrap;gap:0 .8rem;align-items:baseline}"
    "details[open]{padding-bottom:.8rem}code,pre{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}"
    "pre{background:var(--paper);border:1px solid var(--line);padding:.6rem .8rem;white-space:pre-wrap}"
    "b.m{min-width:4.2rem;font-size:.85rem}.GET{color:var(--good)}.POST{color:var(--busy)}"
    ".PUT,.PATCH{color:var(--warn)}.DELETE{color:var(--bad)}summary span{color:var(--soft)}"
    "table{border-collapse:collapse;margin:.5rem 0}td{padding:.15rem .8rem .15rem 0;vertical-align:top}"
    "td:first-child code{white-space:nowrap}"
)
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS: Final[Fields] = (
    ("Content-Security-Policy", f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
)


def docs_page(document: JsonObject, *, where: str, link: str) -> bytes:
    """`where` is the base URL of the examples, `link` the path of the document."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = _operation(method.upper(), path, operation, document["components"]["schemas"], where)
            by_tag.setdefault(operation["tags"][0], []).append(shown)
    parts = [f"<h2>{escape(tag.replace('-', ' '))}</h2>{''.join(each)}" for tag, each in by_tag.items()]
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><h1>{title}</h1>'
        f'<p>{escape(document["info"]["description"])} <a href="{escape(link)}">OpenAPI document</a></p>'
        f"{''.join(parts)}</body></html>"
    ).encode()


def _operation(method: str, path: str, operation: JsonObject, schemas: JsonObject, where: str) -> str:
    rows = [
        (each["name"], f"{each['in']}{', required' if each['required'] else ''}, {_shape(each['schema'])}")
        for each in operation["parameters"]
    ]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    rows += _fields(content.get("schema", {}), schemas)
    codes = [(code, each["description"]) for code, each in operation["responses"].items()]
    example = _example(method, path, content.get("example"), operation, where)
    return (
        f'<details id="{escape(operation["operationId"])}">'
        f'<summary><b class="m {method}">{method}</b><code>{escape(path)}</code>'
        f"<span>{escape(operation['summary'])}</span></summary>"
        f"<p>{escape(operation['description'])}</p>{_table(rows)}<pre>{escape(example)}</pre>{_table(codes)}</details>"
    )


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


def _table(rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    cells = (f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table>{''.join(cells)}</table>"


def _example(method: str, path: str, body: JsonObject | None, operation: JsonObject, where: str) -> str:
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
    words += ["-N"] if "text/event-stream" in operation["responses"].get("200", {}).get("content", {}) else []
    words += ["-X", method] if method != "GET" else []
    words.append(f"{where}{path}")
    words += ["-H", "Content-Type: application/json", "-d", encode(body).decode()] if body else []
    return shlex.join(words)
