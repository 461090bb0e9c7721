"""Discovery: the kinds of a server, cached, and read again when one is missing.

Promises: a known kind costs no request; an unknown one leads to a new request, but at most every few seconds, so that
an operator whose definition is not installed does not flood the server; concurrent callers share one request.
`NotFoundError` is raised only after an answer; while the server does not respond, an unknown kind is
`UnavailableError`. A group version that is unavailable (its API server is down) does not affect others: its known kinds
stay, and unknown ones are `UnavailableError`.

If a server has no aggregated discovery, or a proxy does not pass it on, each group version is requested.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from math import ceil

from homeostat.client.base import Client, UnreachableError
from homeostat.client.kinds import Discovered, GroupVersion, read_discovery, read_group_version
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError, NotFoundError, UnavailableError
from homeostat.objects.kind import Kind

log = logging.getLogger(__name__)

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT = ",".join([*map(_AGGREGATED.format, ("v2", "v2beta1")), "application/json"])
_BETWEEN_S = 5.0
_AT_ONCE = 8
_Trouble = ApiError | UnreachableError


async def fetch_kinds(client: Client) -> list[Kind]:
    """All kinds of the server, in its order of preference: the core group first."""
    return (await discover(client)).kinds


async def discover(client: Client) -> Discovered:
    """All kinds of the server, and the group versions that are unavailable."""
    found = [await _discover_under(client, path) for path in ("/api", "/apis")]
    return Discovered(
        [kind for each in found for kind in each.kinds], tuple(name for each in found for name in each.stale)
    )


async def _discover_under(client: Client, path: str) -> Discovered:
    document = await client.fetch("GET", path, accept=_ACCEPT)
    await asyncio.sleep(0)  # A server in this process has just made the document; thousands of kinds take long.
    found = read_discovery(document)
    return found if isinstance(found, Discovered) else await _ask_each(client, found)


async def _ask_each(client: Client, versions: Sequence[GroupVersion]) -> Discovered:
    async def ask(version: GroupVersion) -> list[Kind] | _Trouble:
        try:
            return read_group_version(await client.fetch("GET", version.path), version)
        except NotFoundError:
            # Removed since the list was made.
            return []
        except (ApiError, UnreachableError) as error:
            return error

    answers = await map_concurrently(ask, versions, at_once=_AT_ONCE)
    troubles = [each for each in answers if not isinstance(each, list)]
    if troubles and len(troubles) == len(answers):
        raise troubles[0]
    stale = [each.api_version for each, answer in zip(versions, answers, strict=True) if not isinstance(answer, list)]
    return Discovered([kind for each in answers if isinstance(each, list) for kind in each], tuple(stale))


class Discovery:
    """`stale` has the group versions that are unavailable."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.stale: tuple[str, ...] = ()
        self._client = client
        self._clock = clock
        self._lock = asyncio.Lock()
        self._asked_at = float("-inf")
        self._trouble: _Trouble | None = None
        self._kinds: list[Kind] = []
        self._by_name: dict[tuple[str, str], Kind] = {}

    async def find(self, api_version: str, kind: str) -> Kind:
        """By `apiVersion` and `kind` of a manifest; `NotFoundError` if the server does not have it."""
        found = self._by_name.get((api_version, kind)) or await self._ask_for(api_version, kind)
        if found is not None:
            return found
        if api_version in self.stale:
            message = f"discovery of {api_version} failed; is its API server running?"
            raise UnavailableError(message, retry_after_s=ceil(_BETWEEN_S))
        raise NotFoundError(f'the server has no kind "{kind}" in {api_version}; is its definition installed?')

    async def refresh(self) -> None:
        """Read the kinds from the server now."""
        async with self._lock:
            await self._ask()
            if self._trouble is not None:
                raise self._trouble

    async def _ask_for(self, api_version: str, kind: str) -> Kind | None:
        name = (api_version, kind)
        # Held during the request, so that concurrent callers share the answer; known kinds need no lock.
        async with self._lock:
            if name not in self._by_name and self._clock() - self._asked_at >= _BETWEEN_S:
                await self._ask()
            if name not in self._by_name and self._trouble is not None:
                message = f"discovery failed: {self._trouble}"
                raise UnavailableError(message, retry_after_s=ceil(_BETWEEN_S)) from self._trouble
            return self._by_name.get(name)

    async def _ask(self) -> None:
        # From the request on, so that callers do not repeat it one after the other if it fails.
        self._asked_at = self._clock()
        try:
            self._learn(await discover(self._client))
        except (ApiError, UnreachableError) as error:
            self._trouble = error
        else:
            self._trouble = None

    def _learn(self, found: Discovered) -> None:
        if found.stale and found.stale != self.stale:
            log.warning("discovery incomplete", extra={"stale": ", ".join(found.stale)})
        self.stale = found.stale
        names = {(each.api_version, each.kind) for each in found.kinds}
        kept = [
            each
            for each in self._kinds
            if each.api_version in found.stale and (each.api_version, each.kind) not in names
        ]
        self._kinds = kinds = [*found.kinds, *kept]
        self._by_name = {(each.api_version, each.kind): each for each in reversed(kinds)}
