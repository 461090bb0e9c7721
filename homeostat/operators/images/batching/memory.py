"""The answers that one pass has received, so that Deployments that need the same answer share one request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Memory:
    """An answer and an error are kept until the pass ends. Who is cancelled does not disturb others who wait."""

    def __init__(self) -> None:
        self._asked: dict[Hashable, asyncio.Future[Any]] = {}

    async def once(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        future = self._asked.get(key)
        if future is None:
            future = self._asked[key] = asyncio.ensure_future(ask())
            future.add_done_callback(_seen)
        return cast("T", await asyncio.shield(future))


def _seen(future: asyncio.Future[Any]) -> None:
    """An error that nobody waited for is not reported by the loop."""
    if not future.cancelled():
        future.exception()
