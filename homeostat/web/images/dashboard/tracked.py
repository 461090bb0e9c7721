"""The tracked workloads with what the operator knows of each, from two watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import Kind
from homeostat.objects.views.workload import Workload
from homeostat.operators.images.api import IMAGE_UPDATE, ImageUpdate, ImageUpdateStatus, Pin
from homeostat.operators.images.engine.annotations import Tracked, tracked_of
from homeostat.operators.images.engine.workloads import ALL, CRON_JOB, CronJob
from homeostat.web.kit.gate import Caller, Question
from homeostat.web.kit.watched import Derived, Watched

STATES: Final = ("failed", "pinned", "proposed", "behind", "pending", "disabled", "up to date")
"""The worst first, as lists are ordered."""


class Update(NamedTuple):
    """One tracked workload."""

    tracked: Tracked
    status: ImageUpdateStatus
    pin: Pin | None
    exists: bool
    """Whether the operator has an ImageUpdate of it."""

    @property
    def state(self) -> str:
        status, result = self.status, self.status.result
        if not self.tracked.settings.enabled:
            return "disabled"
        if result is not None and result.action == "failed":
            return "failed"
        if self.pin is not None:
            return "pinned"
        if result is None:
            return "pending"
        if status.wanted and status.tag and status.wanted != status.tag:
            return "proposed" if status.pull_request is not None else "behind"
        return "up to date"


class _Known(NamedTuple):
    key: tuple[str, str]
    status: ImageUpdateStatus
    pin: Pin | None


class TrackedUpdates:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._workloads: dict[str, Derived[Workload, Tracked | None]] = {
            each.kind: Derived(_tracker(each)) for each in ALL if each != CRON_JOB
        }
        self._cron_jobs: Derived[CronJob, Tracked | None] = Derived(lambda job: tracked_of(job.workload, CRON_JOB))
        self._known: Derived[ImageUpdate, _Known] = Derived(_known)

    async def all(self, caller: Caller) -> list[Update]:
        """Those of the kinds that the caller may list, the worst state first. `ForbiddenError` if this server may list
        none of these kinds.
        """
        updates = await self._watched.all(IMAGE_UPDATE.kind, ImageUpdate)
        known = {each.key: each for each in self._known.of(updates)} if updates is not None else {}
        found = [_update(each, known.get((each.namespace, each.record))) for each in await self._tracked(caller)]
        return sorted(found, key=lambda each: (STATES.index(each.state), each.tracked.key))

    async def find(self, caller: Caller, namespace: str, record: str) -> Update | None:
        wanted, updates = (namespace, record), await self.all(caller)
        return next((each for each in updates if (each.tracked.namespace, each.tracked.record) == wanted), None)

    async def _tracked(self, caller: Caller) -> list[Tracked]:
        allowed = await asyncio.gather(*(caller.allows(Question(each.group, each.plural, "list")) for each in ALL))
        kinds = [kind for kind, is_allowed in zip(ALL, allowed, strict=True) if is_allowed]
        found: list[Tracked] = []
        refused: list[ForbiddenError] = []
        for kind in kinds:
            try:
                found += await self._of_kind(kind)
            except ForbiddenError as error:
                # Those of other kinds are still worth showing.
                refused.append(error)
        if refused and len(refused) == len(kinds):
            raise refused[0]
        return found

    async def _of_kind(self, kind: Kind) -> Iterable[Tracked]:
        if kind == CRON_JOB:
            jobs = await self._watched.all(kind, CronJob)
            return [each for each in self._cron_jobs.of(jobs or ()) if each is not None]
        workloads = await self._watched.all(kind, Workload)
        return [each for each in self._workloads[kind.kind].of(workloads or ()) if each is not None]


def _tracker(kind: Kind) -> Callable[[Workload], Tracked | None]:
    return lambda workload: tracked_of(workload, kind)


def _known(update: ImageUpdate) -> _Known:
    where = update.metadata
    try:
        status = update.read_status(ImageUpdateStatus)
    except msgspec.ValidationError:
        status = ImageUpdateStatus()
    return _Known((where.namespace, where.name), status, update.spec.pin)


def _update(tracked: Tracked, known: _Known | None) -> Update:
    if known is None:
        return Update(tracked, ImageUpdateStatus(), None, exists=False)
    return Update(tracked, known.status, known.pin, exists=True)
