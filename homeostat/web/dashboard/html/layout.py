"""The frame of every page: head, navigation and footer, and the security headers of the responses."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from homeostat import __version__
from homeostat.edge.reply import Fields, Reply
from homeostat.edge.request import Request
from homeostat.objects.json import Json, encode
from homeostat.web.dashboard.html.markup import Markup, Node, el, text_of
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.static import ICON, SCRIPTS, STYLES, Static

HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
GUARDS: Final[Fields] = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    # With "no-referrer", browsers would not send the Origin of a form either.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)


class Page(msgspec.Struct, frozen=True):
    """A page without its frame. `section` is the title of its section."""

    title: str
    content: Node
    section: str = ""
    status: int = 200
    is_live: bool = True
    """Whether the script reloads it regularly."""


class Viewer(msgspec.Struct, frozen=True):
    """Who sees the page: `username` is empty before login; `proof` is the hidden field of its forms."""

    username: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    """Titles and paths of the sections that the viewer may see."""
    pages: tuple[tuple[str, str], ...] = ()
    """Titles and paths of their further pages."""
    proof: str = ""
    has_session: bool = False
    notice: Node = None
    """What concerns all pages, above their content."""


def page_reply(request: Request | None, page: Page, viewer: Viewer, static: Static, *headers: tuple[str, str]) -> Reply:
    """304 if the browser has the same page already, as `request` says."""
    inside = text_of([_header(page.section, viewer), el("main", viewer.notice, page.content, id="main", tabindex=-1)])
    tag = blake2b(f"{page.title}{inside}{static.version}".encode(), digest_size=12).hexdigest()
    every: Fields = (*GUARDS, ("ETag", f'"{tag}"'), *headers)
    if request is not None and page.status == 200 and request.headers.get("if-none-match") == f'"{tag}"':
        return Reply(304, content_type="", headers=every)
    return Reply(page.status, _page(page, inside, tag, static).encode(), HTML, every)


def redirect(place: str, *headers: tuple[str, str]) -> Reply:
    return Reply(303, b"", "", (*GUARDS, ("Location", place), *headers))


def json_reply(body: Json, status: int = 200) -> Reply:
    """For the scripts of pages."""
    return Reply(status, encode(body), headers=GUARDS)


def _page(page: Page, inside: Markup, tag: str, static: Static) -> str:
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{page.title} · Homeostat"),
        el("link", rel="stylesheet", href=static.path(STYLES)),
        el("link", rel="icon", href=static.path(ICON), type="image/svg+xml"),
        el("script", src=static.path(SCRIPTS), defer=True),
    )
    footer = el(
        "footer",
        el("span", f"Homeostat {__version__}"),
        el("span", id="live", class_="live", role="status", aria_live="polite"),
        [el("a", title, href=path) for title, path in static.links],
        # The script shows it.
        el("button", "Dense tables", type="button", id="dense", class_="link", aria_pressed="false", hidden=True),
        # The script fills it.
        el("div", id="saved", class_="saved", hidden=True),
    )
    skip = el("a", "Skip to content", href="#main", class_="skip")
    body = el("body", skip, inside, footer, data_tag=tag, data_live=page.is_live)
    return f"<!doctype html>\n{el('html', head, body, lang='en')}"


def _header(section: str, viewer: Viewer) -> Markup:
    brand = el("a", el("span", class_="mark", aria_hidden="true"), "Homeostat", href=ROOT, class_="brand")
    items = [
        el("li", el("a", title, href=path, aria_current="page" if title == section else None))
        for title, path in viewer.sections
    ]
    nav = el("nav", el("ul", items), aria_label="Sections") if items else None
    return el("header", el("div", brand, nav, _palette() if items else None, _account(viewer), class_="bar"))


def _palette() -> Markup:
    """The script shows it."""
    return el(
        "button", "Go to", el("kbd", "Ctrl K"), type="button", id="palette-open", class_="palette-open", hidden=True
    )


def _account(viewer: Viewer) -> Node:
    if not viewer.username:
        return None
    who = el("span", viewer.username, class_="who", title=f"Signed in as {viewer.username}")
    if not viewer.has_session:
        return el("div", who, class_="account")
    button = el("button", "Sign out", type="submit", class_="link")
    form = el("form", proof_field(viewer.proof), button, method="post", action=f"{ROOT}/logout")
    return el("div", who, form, class_="account")


def proof_field(proof: str) -> Markup:
    return el("input", type="hidden", name="proof", value=proof)
