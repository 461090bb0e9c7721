"""What goes wrong during a run, one thing after another, in an order that the seed gives."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from tests.consistency.cluster import Cluster
from tests.consistency.proxy import Fate, Proxy
from tests.postgres import Postgres


class Faults:
    def __init__(self, server: Postgres, proxy: Proxy, cluster: Cluster, chance: random.Random) -> None:
        self._server, self._proxy, self._cluster, self._chance = server, proxy, cluster, chance
        self.done: Counter[str] = Counter()
        self._is_over = asyncio.Event()

    async def run(self, *, every_s: float) -> None:
        """Each kind once in every round, until told to end; what was stopped is running then."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._kill_a_replica,
            self._cut_connections,
            self._stop_the_database,
            self._crash_the_database,
            self._refuse_connections,
            self._lose_a_commit,
        ]
        while True:
            self._chance.shuffle(kinds)
            for kind in kinds:
                if await self._is_over_within(every_s * self._chance.uniform(0.5, 1.5)):
                    return
                await kind()
                self.done[kind.__name__.strip("_").replace("_", " ")] += 1

    def end(self) -> None:
        self._is_over.set()

    async def _is_over_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._is_over.wait()
        except TimeoutError:
            return False
        return True

    async def _kill_a_replica(self) -> None:
        member = self._chance.choice(self._cluster.members)
        await member.kill()
        await member.start()

    async def _cut_connections(self) -> None:
        self._proxy.cut()

    async def _refuse_connections(self) -> None:
        self._proxy.is_refusing = True
        self._proxy.cut()
        await asyncio.sleep(self._chance.uniform(0.1, 2.5))
        self._proxy.is_refusing = False

    async def _lose_a_commit(self) -> None:
        fate: Fate = self._chance.choice(["answer-lost", "never-arrives", "arrives-later"])
        self._proxy.doom(self._chance.choice([b"COMMIT", b"object-"]), fate)
        await asyncio.sleep(self._chance.uniform(0.1, 0.5))
        await self._proxy.release()

    async def _stop_the_database(self) -> None:
        await self._restart(is_crash=False)

    async def _crash_the_database(self) -> None:
        await self._restart(is_crash=True)

    async def _restart(self, *, is_crash: bool) -> None:
        await asyncio.to_thread(self._server.stop, is_crash=is_crash)
        await asyncio.sleep(self._chance.uniform(0, 0.5))
        self._server.start()
