"""What goes wrong with planes beside what goes wrong with stores: one stands still, or its database is long away."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.consistency.clients import Writer
from tests.consistency.faults import Faults
from tests.consistency.http_cluster import PlaneCluster
from tests.consistency.proxy import Proxy
from tests.postgres import Postgres

_PATIENCE_S = 5.0
"""For so long a plane waits for its database before it refuses."""
_PAUSE_S = 2.5
"""Longer than the database lets anybody sit in the commit section."""
_ONE_ROUND_S = 0.01
"""Over before the first of its faults is."""


class PlaneFaults(Faults):
    """Those of stores, and after each round of them the two of planes."""

    def __init__(
        self, server: Postgres, proxy: Proxy, cluster: PlaneCluster, authors: Sequence[Writer], chance: random.Random
    ) -> None:
        super().__init__(server, proxy, cluster, authors, chance)
        self._planes = cluster.planes

    async def run(self, *, seconds: float, every_s: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while True:
            await super().run(seconds=_ONE_ROUND_S, every_s=every_s)
            await self._pause_a_plane()
            if seconds:
                await self._lose_the_database_for_long()
            if loop.time() >= ends_at:
                return

    async def _pause_a_plane(self) -> None:
        await self._chance.choice(self._planes).pause(_PAUSE_S)
        self.done["pause a plane"] += 1

    async def _lose_the_database_for_long(self) -> None:
        self._proxy.is_refusing = True
        self._proxy.cut()
        await asyncio.sleep(_PATIENCE_S + self._chance.uniform(0.5, 2))
        self._proxy.is_refusing = False
        self.done["lose the database for long"] += 1
