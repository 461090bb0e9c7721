"""Which kinds a server has, remembered, and asked for again when one is missing.

Promises: a kind that is known costs no request; one that is not known makes the server be asked anew, but at most
every few seconds, so that an operator whose definition is not there yet does not flood it; all who miss something at
the same time wait for the same answer. `NotFoundError` is said only after an answer: while the server cannot be asked,
what is not known is `UnavailableError`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from math import ceil

from homeostat.client.base import Client, UnreachableError
from homeostat.client.kinds import read_discovery
from homeostat.objects.errors import ApiError, NotFoundError, UnavailableError
from homeostat.objects.kind import Kind

AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
_BETWEEN_S = 5.0


async def fetch_kinds(client: Client) -> list[Kind]:
    """All that the server tells, in its order of preference: the core group first."""
    documents = [await client.fetch("GET", path, accept=AGGREGATED) for path in ("/api", "/apis")]
    return [kind for document in documents for kind in read_discovery(document)]


class Discovery:
    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._trouble: ApiError | UnreachableError | None = None
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
            if self._trouble is not None:
                raise self._trouble

    async def _look(self, known: Callable[[], Kind | None]) -> Kind | None:
        found = known()
        if found is not None:
            return found
        # Held over the request: who misses something waits for the same answer, and what is known needs no lock.
        async with self._lock:
            if (found := known()) is None and self._clock() - self._asked_at >= _BETWEEN_S:
                await self._ask()
                found = known()
            if found is None and self._trouble is not None:
                told = f"the server cannot be asked for its kinds: {self._trouble}"
                raise UnavailableError(told, retry_after_s=ceil(_BETWEEN_S)) from self._trouble
        return found

    async def _ask(self) -> None:
        # Counted from the question, so that a server that fails is not asked by everybody in turn.
        self._asked_at = self._clock()
        try:
            self._learn(await fetch_kinds(self._client))
        except (ApiError, UnreachableError) as error:
            self._trouble = error
        else:
            self._trouble = None

    def _learn(self, kinds: Sequence[Kind]) -> None:
        self._by_name = {(each.api_version, each.kind): each for each in reversed(kinds)}
        self._by_word = {
            (word, group): each for each in reversed(kinds) for word in each.words() for group in ("*", each.group)
        }
