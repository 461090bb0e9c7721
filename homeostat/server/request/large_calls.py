"""Limits the large calls that a user has started.

What a call has decoded takes some twenty times the memory of its bytes, and stays while the call waits for its next
turn of a thread, for a webhook or a commit. So the further calls of the user wait with their bytes alone: not for a
seat, nor with one, because whoever has one keeps small calls of others waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from homeostat.server.request.call import Call
from homeostat.server.request.negotiate import PLAIN

COUNTED_BYTES: Final = 16 * 1024
"""Smaller calls never wait."""
MOST_BYTES: Final = 8 << 20
"""Of the bodies and stored objects of the calls that one user has started, unless it is a single call."""


def size_of(call: Call, verb: str) -> int:
    """Of what the call decodes: its body, and the stored object."""
    if verb == "get" and call.representation is PLAIN:
        return 0
    record = call.store.get(call.key) if call.path.name else None
    return len(call.body) + (len(record.value) if record is not None else 0)


class _Started:
    __slots__ = ("size", "waiting")

    def __init__(self) -> None:
        self.size = 0
        self.waiting: deque[tuple[asyncio.Future[None], int]] = deque()


class LargeCalls:
    __slots__ = ("_most_bytes", "_users")

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._users: dict[str, _Started] = {}

    @asynccontextmanager
    async def started(self, user: str, size: int) -> AsyncIterator[None]:
        """Waits until a call of this size may start, in the order of the user's calls."""
        mine = self._users.get(user)
        if mine is None:
            mine = self._users[user] = _Started()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        mine.waiting.append((place, size))
        self._admit(user, mine)
        try:
            await place
            yield
        finally:
            place.cancel()
            if place.cancelled():
                with suppress(ValueError):
                    mine.waiting.remove((place, size))
            else:
                mine.size -= size
            self._admit(user, mine)

    def _admit(self, user: str, mine: _Started) -> None:
        while mine.waiting and (not mine.size or mine.size + mine.waiting[0][1] <= self._most_bytes):
            place, size = mine.waiting.popleft()
            if place.cancelled():
                continue  # its task did not run since
            mine.size += size
            place.set_result(None)
        # A cancelled call may come here last, when the user has begun again.
        if not mine.size and not mine.waiting and self._users.get(user) is mine:
            del self._users[user]
