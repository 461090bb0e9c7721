"""The frame of every page of a contract's documentation: head, navigation, style. No scripts, and nothing is loaded.

The pages work from a file, from any web server and in light and dark. Their policy allows the one style sheet by its
hash, and nothing else: what a contract contains cannot make a browser run or fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from homeostat.edge.reply import Fields
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.documentation.style import STYLE

_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
HEADERS: Final[Fields] = (
    ("Content-Security-Policy", f"{_POLICY}; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
"""For a server of these pages; the policy is also part of each page, except what only a header may say."""

Link = tuple[str, str]
"""Title and address."""


def page(title: str, content: Node, *, brand: Link, pages: Sequence[Link] = (), sections: Sequence[Link] = ()) -> bytes:
    """`brand` leads to the first page; `pages` are the others, `sections` the headings of this one."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Markup(STYLE)),
    )
    links = [el("a", name, href=address) for name, address in pages]
    header = el("header", el("div", el("a", brand[0], href=brand[1], class_="brand"), el("nav", links), class_="bar"))
    contents = (
        el("aside", el("p", "On this page"), el("nav", [el("a", name, href=at) for name, at in sections]))
        if sections
        else None
    )
    skip = el("a", "Skip to content", href="#main", class_="skip")
    body = el("body", skip, header, el("div", contents, el("main", content, id="main"), class_="columns"))
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n".encode()


def section(title: str, *content: Node) -> Node:
    return el("section", el("h2", title), *content, id=anchor(title))


def anchor(title: str) -> str:
    return "-".join("".join(each if each.isalnum() else " " for each in title.lower()).split())


def table(headings: Sequence[str], rows: Sequence[Sequence[Node]]) -> Node:
    head = el("thead", el("tr", [el("th", each, scope="col") for each in headings]))
    body = el("tbody", [el("tr", [el("td", each) for each in row]) for row in rows])
    return el("div", el("table", head, body), class_="wide")


def code(text: str) -> Node:
    return el("code", text) if text else None


def badge(text: str, kind: str = "") -> Node:
    return el("span", text, class_=f"badge {kind}".rstrip())
