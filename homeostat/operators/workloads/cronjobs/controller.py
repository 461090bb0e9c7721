"""Creates the Jobs of CronJobs when they are due."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

from homeostat.objects.errors import AlreadyExistsError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import CRON_JOB, JOB, Workload
from homeostat.operators.workloads.cronjobs.decide import CronError, Decision, decide
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import BY_OWNER, owner_router
from homeostat.operators.workloads.jobs.decide import finished_condition
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "cronjob-controller"
_LONGEST_WAIT_S: Final = 600.0
"""The clock of the machine may be set meanwhile."""


class CronJobs:
    def __init__(self, setup: Setup, crons: Informer[Workload], jobs: Informer[Workload], events: Events) -> None:
        self._client, self._crons, self._jobs, self._events = setup.client, crons.cache, jobs.cache, events
        self._deleted: set[str] = set()
        """The uids of active Jobs that were deleted here."""
        self._reconciler = Reconciler(setup, "cronjobs", self._reconcile)
        crons.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        jobs.add_handler(owner_router(CRON_JOB, self._reconciler.soon, lambda _: []))
        jobs.add_handler(self._note_job)

    def _note_job(self, change: Change[Workload]) -> None:
        if change.old is not None and not finished_condition(change.old):
            if change.new is not None:
                self._record_end(change.new)
            elif change.old.metadata.uid not in self._deleted:
                self._record_missing(change.old)
        if change.new is None and change.old is not None:
            self._deleted.discard(change.old.metadata.uid)

    def _record_missing(self, job: Workload) -> None:
        """Of an active Job that somebody else has deleted."""
        owner = job.metadata.controller
        if owner is None or not owner.is_of(CRON_JOB):
            return
        cron = self._crons.readable(job.metadata.namespace, owner.name)
        if cron is not None and cron.metadata.uid == owner.uid and not cron.metadata.is_terminating:
            self._record(cron, "Normal", "MissingJob", f"Active job went missing: {job.metadata.name}")

    def _record_end(self, job: Workload) -> None:
        owner, ended = job.metadata.controller, finished_condition(job)
        if owner is None or not owner.is_of(CRON_JOB):
            return
        cron = self._crons.readable(job.metadata.namespace, owner.name)
        if ended and cron is not None:
            message = f"Saw completed job: {job.metadata.name}, condition: {ended}"
            self._events.record(CRON_JOB, cron.metadata, "SawCompletedJob", message, by=_COMPONENT)

    async def _reconcile(self, key: Key) -> None:
        cron = self._crons.get(*key)
        if cron is None:
            return
        try:
            decision = decide(cron, self._jobs.indexed(BY_OWNER, cron.metadata.uid), datetime.now(UTC))
        except CronError as error:
            self._record(cron, "Warning", "UnparseableSchedule", str(error))
            return
        await self._act(cron, decision)
        if decision.status is not None:
            await self._client.merge(CRON_JOB.path(*key, "status"), status_patch(decision.status))
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=min(decision.again_s, _LONGEST_WAIT_S))

    async def _act(self, cron: Workload, decision: Decision) -> None:
        namespace = cron.metadata.namespace
        for name in decision.delete:
            options: JsonObject = {"propagationPolicy": "Background"}
            job = self._jobs.get(namespace, name)
            uid = "" if job is None or finished_condition(job) else job.metadata.uid
            if uid:
                self._deleted.add(uid)
            try:
                await self._client.delete(JOB.path(namespace, name), options)
            except BaseException as error:
                self._deleted.discard(uid)
                if isinstance(error, NotFoundError):
                    continue
                raise
            self._record(cron, "Normal", "SuccessfulDelete", f"Deleted job {name}")
        if decision.create is not None:
            name = decision.create["metadata"]["name"]
            try:
                await self._client.create(JOB.path(namespace), decision.create)
            except AlreadyExistsError:
                return
            self._record(cron, "Normal", "SuccessfulCreate", f"Created job {name}")
        for type_, reason, message in decision.events:
            self._record(cron, "Warning" if type_ == "Warning" else "Normal", reason, message)

    def _record(self, cron: Workload, type_: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        self._events.record(CRON_JOB, cron.metadata, reason, message, by=_COMPONENT, type_=type_)
