"""Routes of an HTTP app: how they are added, one by one or as a table below a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol, runtime_checkable

from homeostat.edge.handler import Answer
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request

API: Final = "/api/v1"
"""The path prefix of everything that programs call."""
Page = Callable[[Request, Mapping[str, str]], Awaitable[Answer]]
"""Handles a request, with the variables of its path; it may raise `RefusalError`."""


@runtime_checkable
class ShowsFailure(Protocol):
    """A page for people, which shows an unexpected error itself."""

    def failed(self, request_id: str) -> Reply: ...


Add = Callable[[str, str, Page], None]
"""Takes a method, a pattern as in `edge/routes.py`, and the handler."""
AddRoutes = Callable[[Add], None]
Route = tuple[str, str]
"""Method and pattern."""
Row = tuple[str, str, Page]
"""Method, path and handler."""


def add_table(add: Add, below: str, rows: Iterable[Row], *, ready: Callable[[], Awaitable[None]]) -> None:
    """Each request waits for `ready` first, which loads what the handlers read."""
    for method, path, page in rows:
        add(method, f"{below}{path}", _when_ready(page, ready))


def _when_ready(page: Page, ready: Callable[[], Awaitable[None]]) -> Page:
    async def handle(request: Request, captured: Mapping[str, str]) -> Answer:
        await ready()
        return await page(request, captured)

    return handle
