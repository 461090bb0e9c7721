"""Which kinds a server has, remembered, and asked for again when one is missing.

Promises: a kind that is known costs no request; one that is not known makes the server be asked anew, but at most
every few seconds, so that an operator whose definition is not there yet does not flood it; all who miss something at
the same time wait for the same answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from homeostat.client.base import Client
from homeostat.client.kinds import Kind, read_discovery
from homeostat.objects.errors import NotFoundError

AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
_BETWEEN_S = 5.0


async def fetch_kinds(client: Client) -> list[Kind]:
    """All that the server tells, in its order of preference: the core group first."""
    documents = await asyncio.gather(
        client.fetch("GET", "/api", accept=AGGREGATED), client.fetch("GET", "/apis", accept=AGGREGATED)
    )
    return [kind for document in documents for kind in read_discovery(document)]


class Discovery:
    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._by_name: dict[tuple[str, str], Kind] = {}
        self._by_word: dict[tuple[str, str], Kind] = {}

    async def find(self, api_version: str, kind: str) -> Kind:
        """By what a manifest says: `apps/v1`, `Deployment`. `NotFoundError` where the server does not have it."""
        found = await self._look(lambda: self._by_name.get((api_version, kind)))
        if found is None:
            raise NotFoundError(f'the server has no kind "{kind}" in {api_version}; is its definition installed?')
        return found

    async def find_word(self, word: str, group: str | None = None) -> Kind:
        """By plural, singular, kind or short name in any case; of several the server's first, or the group's."""
        key = (word.lower(), "*" if group is None else group)
        found = await self._look(lambda: self._by_word.get(key))
        if found is None:
            told = f" in {group}" if group else ""
            raise NotFoundError(f'the server has no kind "{word}"{told}; is its definition installed?')
        return found

    async def refresh(self) -> None:
        """Ask the server now, whatever is known."""
        async with self._lock:
            await self._ask()

    async def _look(self, known: Callable[[], Kind | None]) -> Kind | None:
        found = known()
        if found is not None:
            return found
        async with self._lock:
            if (found := known()) is None and self._clock() - self._asked_at >= _BETWEEN_S:
                await self._ask()
                found = known()
        return found

    async def _ask(self) -> None:
        # Counted from the question, so that a server that fails is not asked by everybody in turn.
        self._asked_at = self._clock()
        self._learn(await fetch_kinds(self._client))

    def _learn(self, kinds: Sequence[Kind]) -> None:
        self._by_name = {(each.api_version, each.kind): each for each in reversed(kinds)}
        self._by_word = {
            (word, group): each for each in reversed(kinds) for word in each.words() for group in ("*", each.group)
        }
