"""The static files of the dashboard: styles, scripts and an icon. Browsers may cache them for ever, because their URL
changes with their contents. They are read when this module is imported, which is done in a thread.

A page needs its styles before it is painted. So all styles are one file, and all scripts another: with a file each, a
browser opens as many connections, with a TLS handshake each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pkgutil import get_data
from typing import Final

from homeostat.edge.reply import Fields, Reply
from homeostat.edge.request import Request
from homeostat.web.dashboard.root import ROOT
from homeostat.web.kit.refusal import unknown

STYLES: Final = "pages.css"
SCRIPTS: Final = "pages.js"
ICON: Final = "icon.svg"
_PARTS: Final = {
    STYLES: ("dashboard.css", "operators.css", "objects.css"),
    SCRIPTS: ("dashboard.js", "palette.js", "saved.js", "graph.js"),
    ICON: (ICON,),
}
_TYPES: Final = {
    STYLES: "text/css; charset=utf-8",
    SCRIPTS: "text/javascript; charset=utf-8",
    ICON: "image/svg+xml",
}
_HEADERS: Final[Fields] = (
    ("Cache-Control", "public, max-age=31536000, immutable"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'"),
)


def _read(name: str) -> bytes:
    data = get_data("homeostat.web.dashboard", f"static/{name}")
    assert data is not None
    return data


_FILES: Final = {name: b"".join(map(_read, parts)) for name, parts in _PARTS.items()}
_VERSION: Final = blake2b(b"".join(_FILES.values()), digest_size=6).hexdigest()


class Static:
    """`links` are titles and paths for the foot of every page."""

    version = _VERSION

    def __init__(self, links: Sequence[tuple[str, str]] = ()) -> None:
        self.links = tuple(links)

    def path(self, name: str) -> str:
        return f"{ROOT}/static/{self.version}/{name}"

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        name = captured["name"]
        if name not in _FILES:
            raise unknown(f"no page {request.path}")
        # During an upgrade a browser may request the version of another replica: it must not cache ours under that URL.
        headers = _HEADERS if captured["version"] == self.version else (("Cache-Control", "no-store"), *_HEADERS[1:])
        return Reply(200, _FILES[name], _TYPES[name], headers)


def static_of(*, has_users: bool) -> Static:
    """Beside the REST API, which has users, pages lead to its documentation."""
    return Static([("REST API", "/docs")] if has_users else [])
