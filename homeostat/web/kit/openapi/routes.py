"""`/openapi.json` and `/docs`: the description of an API, as a document and as a page. Public: it contains no data.

The document is generated at the first request and kept: generating it takes tens of milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import JsonObject, encode
from homeostat.web.kit.routing import API, Add, Route

if TYPE_CHECKING:
    from homeostat.web.kit.openapi.document import About


class Description:
    """`routes` and `about` are read at the first request, when all routes have been added. `documents` and `pages` are
    the paths of the document and of its page, `home` is the path of the dashboard, if this server has one.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        about: Callable[[], About],
        *,
        documents: Sequence[str] = (f"{API}/openapi.json", "/openapi.json"),
        # Two names of one page, as clients of FastAPI servers know them.
        pages: Sequence[str] = ("/docs", "/redoc"),
        home: str = "",
    ) -> None:
        self._routes, self._about, self._home = routes, about, home
        self._documents, self._pages = documents, pages
        self._document: JsonObject | None = None

    def add_routes(self, add: Add) -> None:
        for path in self._documents:
            add("GET", path, self.show_document)
        for path in self._pages:
            add("GET", path, self.show_docs)

    async def show_document(self, request: Request, captured: Mapping[str, str]) -> Reply:
        return Reply(200, encode(await self._made()))

    async def show_docs(self, request: Request, captured: Mapping[str, str]) -> Reply:
        from homeostat.web.kit.openapi.page import HEADERS, Place, docs_page

        scheme = "https" if request.peer.is_tls else "http"
        # On a port that faces share, an API may be below a path of its own.
        below = next((request.path.removesuffix(each) for each in self._pages if request.path.endswith(each)), "")
        place = Place(f"{scheme}://{request.headers.get('host', 'localhost')}", below, self._home)
        page = docs_page(await self._made(), place, link=f"{below}{self._documents[0]}")
        return Reply(200, page, "text/html; charset=utf-8", HEADERS)

    async def schemas(self) -> JsonObject:
        """The JSON Schemas of bodies, by name."""
        found: JsonObject = (await self._made())["components"]["schemas"]
        return found

    async def _made(self) -> JsonObject:
        if self._document is None:
            self._document = await asyncio.to_thread(self._make)
        return self._document

    def _make(self) -> JsonObject:
        from homeostat.web.kit.openapi.document import document

        described = {*self._documents, *self._pages}
        return document([each for each in self._routes if each[1] not in described], self._about())
