"""What goes wrong during a run, one thing after another, in an order that the seed gives.

Between two faults the writers store some objects, however long that takes: a slow machine has as much of a history.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from homeostat.testing.eventually import eventually
from tests.consistency.clients import Writer
from tests.consistency.cluster import Cluster
from tests.consistency.proxy import Fate, Proxy
from tests.consistency.replica import PATIENCE_S
from tests.postgres import Postgres

_AWAY_S = PATIENCE_S + 0.4
_STORED_BETWEEN = 10


class Faults:
    def __init__(
        self, server: Postgres, proxy: Proxy, cluster: Cluster, authors: Sequence[Writer], chance: random.Random
    ) -> None:
        self._server, self._proxy, self._cluster, self._chance = server, proxy, cluster, chance
        self._authors = authors
        self.done: Counter[str] = Counter()

    async def run(self, *, seconds: float, every_s: float) -> None:
        """Rounds in which each kind comes once, for so long and at least one; what was stopped is running then."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._kill_a_replica,
            self._cut_connections,
            self._stop_the_database,
            self._crash_the_database,
            self._refuse_connections,
            self._lose_commits,
        ]
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while not self.done or loop.time() < ends_at:
            self._chance.shuffle(kinds)
            for kind in kinds:
                stored = self._stored()
                await asyncio.sleep(every_s * self._chance.uniform(0.5, 1.5))
                await eventually(self._stored, lambda now: now - stored >= _STORED_BETWEEN, within_s=60)  # noqa: B023
                await kind()
                self.done[kind.__name__.strip("_").replace("_", " ")] += 1

    def _stored(self) -> int:
        return sum(author.stored for author in self._authors)

    async def _kill_a_replica(self) -> None:
        member = self._chance.choice(self._cluster.members)
        await member.kill()
        await member.start()

    async def _cut_connections(self) -> None:
        self._proxy.cut()

    async def _refuse_connections(self) -> None:
        self._proxy.is_refusing = True
        self._proxy.cut()
        await asyncio.sleep(self._chance.uniform(0.1, _AWAY_S))
        self._proxy.is_refusing = False

    async def _lose_commits(self) -> None:
        """One after another in each way; with the last there is nobody to ask whether it was stored."""
        fates: list[Fate] = ["answer-lost", "never-arrives", "arrives-later"]
        self._chance.shuffle(fates)
        for fate in fates:
            # Under contention a commit is a message of its own; else it is the one that brings the change.
            self._proxy.doom(self._chance.choice([b"COMMIT", b"COMMIT", b"object-"]), fate)
            self._proxy.is_refusing = fate is fates[-1]
            await asyncio.sleep(_AWAY_S if self._proxy.is_refusing else 0.2)
            self._proxy.is_refusing = False
            await self._proxy.release()

    async def _stop_the_database(self) -> None:
        await self._restart(is_crash=False)

    async def _crash_the_database(self) -> None:
        await self._restart(is_crash=True)

    async def _restart(self, *, is_crash: bool) -> None:
        await asyncio.to_thread(self._server.stop, is_crash=is_crash)
        await asyncio.sleep(self._chance.uniform(0, 0.5))
        self._server.start()
