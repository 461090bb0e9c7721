"""A table of pages below a path, each answered once what it reads is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request

Handle = Callable[[Request, Mapping[str, str]], Awaitable[Reply]]
Add = Callable[[str, str, Handle], None]
Row = tuple[str, str, Handle]
"""Method, path, and who answers."""


def add_table(add: Add, below: str, rows: Iterable[Row], *, ready: Callable[[], Awaitable[None]]) -> None:
    for method, path, handle in rows:
        add(method, f"{below}{path}", _when_ready(handle, ready))


def _when_ready(handle: Handle, ready: Callable[[], Awaitable[None]]) -> Handle:
    async def handle_ready(request: Request, captured: Mapping[str, str]) -> Reply:
        await ready()
        return await handle(request, captured)

    return handle_ready
