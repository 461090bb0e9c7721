"""Clients of managed servers: one for each ManagedServer, so that all of its policies share its limits and its token.

A client is replaced when its settings change, and closed when nobody uses it any more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from homeostat.external.secrets.scrub import Scrubber
from homeostat.operators.sync.server.client import ManagedServer
from homeostat.operators.sync.server.settings import ServerSettings

Key = tuple[str, str]


@dataclass(slots=True)
class _Open:
    client: ManagedServer
    users: int = 0
    is_retired: bool = False


class Servers:
    def __init__(self) -> None:
        self._open = dict[Key, _Open]()
        self._scrubbers = dict[Key, Scrubber]()

    def scrubber(self, key: Key) -> Scrubber:
        """Of everything that is read for this server."""
        return self._scrubbers.setdefault(key, Scrubber())

    @asynccontextmanager
    async def use(self, key: Key, settings: ServerSettings) -> AsyncIterator[ManagedServer]:
        found = self._open.get(key)
        if found is None or found.client.settings != settings:
            await self.forget(key)
            found = self._open[key] = _Open(ManagedServer(settings, self.scrubber(key)))
        found.users += 1
        try:
            yield found.client
        finally:
            found.users -= 1
            if found.is_retired and not found.users:
                await found.client.close()

    async def forget(self, key: Key) -> None:
        found = self._open.pop(key, None)
        if found is None:
            return
        found.is_retired = True
        if not found.users:
            await found.client.close()

    async def close(self) -> None:
        for key in list(self._open):
            await self.forget(key)
