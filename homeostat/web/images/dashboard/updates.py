"""All tracked workloads with what the operator knows of each, from two watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from homeostat.objects.declared import readable_status
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import Kind
from homeostat.operators.images.api import IMAGE_UPDATE, ImageUpdate, ImageUpdateStatus, Pin
from homeostat.operators.images.engine.annotations import Tracked, tracked_of
from homeostat.operators.images.engine.workloads import ALL, CRON_JOB, CronJob
from homeostat.web.dashboard.visit import Visit, is_in
from homeostat.web.images.dashboard.rollout import RolledWorkload, Rollout, rollout_of
from homeostat.web.images.dashboard.update import STATES, Update
from homeostat.web.kit.watched import Derived, Watched


class _Seen(NamedTuple):
    tracked: Tracked
    rollout: Rollout
    pod_labels: Mapping[str, str]


class _Known(NamedTuple):
    key: tuple[str, str]
    status: ImageUpdateStatus
    pin: Pin | None


class TrackedUpdates:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._workloads: dict[str, Derived[RolledWorkload, _Seen | None]] = {
            each.kind: Derived(_tracker(each)) for each in ALL if each != CRON_JOB
        }
        self._cron_jobs: Derived[CronJob, _Seen | None] = Derived(_of_cron_job)
        self._known: Derived[ImageUpdate, _Known] = Derived(_known)

    async def all(self, visit: Visit) -> list[Update]:
        """Those of the kinds that the visitor may list, the worst state first. `ForbiddenError` if this server may list
        none of these kinds.
        """
        updates = await self._watched.all(IMAGE_UPDATE.kind, ImageUpdate)
        known = {each.key: each for each in self._known.of(updates)} if updates is not None else {}
        tracked = await self._tracked(visit)
        found = [_update(each, known.get((each.tracked.namespace, each.tracked.record))) for each in tracked]
        return sorted(found, key=lambda each: (STATES.index(each.state), each.tracked.key))

    async def find(self, visit: Visit, namespace: str, record: str) -> Update | None:
        wanted, updates = (namespace, record), await self.all(visit)
        return next((each for each in updates if (each.tracked.namespace, each.tracked.record) == wanted), None)

    async def _tracked(self, visit: Visit) -> list[_Seen]:
        places = dict(zip(ALL, await asyncio.gather(*map(visit.listable, ALL)), strict=True))
        kinds = [kind for kind in ALL if places[kind] is None or places[kind]]
        found: list[_Seen] = []
        refused: list[ForbiddenError] = []
        for kind in kinds:
            try:
                found += [each for each in await self._of_kind(kind) if is_in(places[kind], each.tracked.namespace)]
            except ForbiddenError as error:
                # Those of other kinds are still worth showing.
                refused.append(error)
        if refused and len(refused) == len(kinds):
            raise refused[0]
        return found

    async def _of_kind(self, kind: Kind) -> Iterable[_Seen]:
        if kind == CRON_JOB:
            jobs = await self._watched.all(kind, CronJob)
            return [each for each in self._cron_jobs.of(jobs or ()) if each is not None]
        workloads = await self._watched.all(kind, RolledWorkload)
        return [each for each in self._workloads[kind.kind].of(workloads or ()) if each is not None]


def _tracker(kind: Kind) -> Callable[[RolledWorkload], _Seen | None]:
    def seen(workload: RolledWorkload) -> _Seen | None:
        tracked = tracked_of(workload, kind)
        return None if tracked is None else _Seen(tracked, rollout_of(workload, kind), workload.pod_labels)

    return seen


def _of_cron_job(job: CronJob) -> _Seen | None:
    tracked = tracked_of(job.workload, CRON_JOB)
    return None if tracked is None else _Seen(tracked, Rollout(), {})


def _known(update: ImageUpdate) -> _Known:
    where = update.metadata
    return _Known((where.namespace, where.name), readable_status(update, ImageUpdateStatus), update.spec.pin)


def _update(seen: _Seen, known: _Known | None) -> Update:
    if known is None:
        return Update(seen.tracked, ImageUpdateStatus(), None, False, seen.rollout, seen.pod_labels)
    return Update(seen.tracked, known.status, known.pin, True, seen.rollout, seen.pod_labels)
