"""What the HTTP API of this process asks the operator of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from homeostat.operators.images.batching.scheduler import Scheduler
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import Entry
from homeostat.operators.images.metrics import Series
from homeostat.operators.images.tracking import TrackedWorkloads


@dataclass(frozen=True, slots=True)
class ImageService:
    deployments: TrackedWorkloads
    scheduler: Scheduler
    series: Series

    def tracked(self) -> Sequence[Tracked]:
        return self.deployments.all()

    async def reconcile(self, keys: frozenset[str] | None = None) -> list[Entry]:
        return await self.scheduler.reconcile(keys)

    async def trigger(self, matches: Callable[[Tracked], bool]) -> int:
        """A pass soon over those that match; how many there are. `NotLeadingError` if another process leads."""
        return await self.scheduler.trigger_matching(matches)
