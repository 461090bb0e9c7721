"""Creates the Jobs of CronJobs when they are due."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import CRON_JOB, JOB, Workload
from homeostat.operators.workloads.cronjobs.decide import CronError, Decision, decide, reference_to
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import BY_OWNER, owner_router
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "cronjob-controller"
_LONGEST_WAIT_S: Final = 600.0
"""The clock of the machine may be set meanwhile."""


class CronJobs:
    def __init__(self, setup: Setup, crons: Informer[Workload], jobs: Informer[Workload], events: Events) -> None:
        self._client, self._crons, self._jobs, self._events = setup.client, crons.cache, jobs.cache, events
        self._reconciler = Reconciler(setup, "cronjobs", self._reconcile)
        crons.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        jobs.add_handler(owner_router(CRON_JOB, self._reconciler.soon, lambda _: []))

    async def _reconcile(self, key: Key) -> None:
        cron = self._crons.get(*key)
        if cron is None:
            return
        try:
            decision = decide(cron, self._jobs.indexed(BY_OWNER, cron.metadata.uid), datetime.now(UTC))
        except CronError as error:
            self._record(cron, "Warning", "UnparseableSchedule", str(error))
            return
        created = await self._act(cron, decision)
        status = decision.status
        if created is not None:
            active = cron.status.get("active") if status is None else status["active"]
            status = {**(status or {}), "active": [*(active or ()), created]}
        if status is not None:
            await self._client.merge(CRON_JOB.path(*key, "status"), status_patch(status))
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=min(decision.again_s, _LONGEST_WAIT_S))

    async def _act(self, cron: Workload, decision: Decision) -> JsonObject | None:
        """The reference to the Job that was created, if any."""
        for type_, reason, message in decision.events:
            self._record(cron, "Warning" if type_ == "Warning" else "Normal", reason, message)
        for job in decision.delete:
            options: JsonObject = {"propagationPolicy": "Background", "preconditions": {"uid": job.metadata.uid}}
            try:
                await self._client.delete(JOB.path(cron.metadata.namespace, job.metadata.name), options)
            except (NotFoundError, ConflictError):
                continue  # It is gone, and perhaps another one has its name.
            self._record(cron, "Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}")
        return None if decision.create is None else await self._create(cron, decision.create)

    async def _create(self, cron: Workload, job: JsonObject) -> JsonObject | None:
        name = job["metadata"]["name"]
        try:
            created = await self._client.create(JOB.path(cron.metadata.namespace), job)
        except AlreadyExistsError:
            # Its status may have been refused after the creation; a Job of somebody else is not ours to name.
            found = await self._client.get(JOB.path(cron.metadata.namespace, name))
            owners = found["metadata"].get("ownerReferences") or ()
            is_ours = any(each.get("controller") and each["uid"] == cron.metadata.uid for each in owners)
            known = {each.get("uid") for each in cron.status.get("active") or ()}
            return reference_to(found) if is_ours and found["metadata"]["uid"] not in known else None
        self._record(cron, "Normal", "SuccessfulCreate", f"Created job {name}")
        return reference_to(created)

    def _record(self, cron: Workload, type_: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        self._events.record(CRON_JOB, cron.metadata, reason, message, by=_COMPONENT, type_=type_)
