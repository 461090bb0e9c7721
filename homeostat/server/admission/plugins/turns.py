"""One charged write at a time in a namespace with quotas, in the order of arrival.

Writes at the same time would replace the same revision of a quota: one succeeds in each commit, and the others are
computed again. The deadline of the request ends a wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class _Turn:
    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class Turns:
    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    def __len__(self) -> int:
        """The namespaces in which a charged write is running."""
        return len(self._turns)

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        turn = self._turns.setdefault(namespace, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[namespace]
