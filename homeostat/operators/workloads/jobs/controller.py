"""Runs the Pods of Jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import selector_of
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.operators.workloads.api import BACK_OFF, JOB, Pod, Workload
from homeostat.operators.workloads.creation import Creation, random_suffix
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import claim_pods, owner_router
from homeostat.operators.workloads.jobs.decide import INDEX, REQUIRED, Decision, Tally, decide, with_index
from homeostat.operators.workloads.naming import suffixed
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.status import status_patch
from homeostat.operators.workloads.template import pod_from
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.recorder import EventType
from homeostat.runtime.setup import Setup

COMPONENT: Final = "job-controller"
_BACK_OFF_S: Final = 10.0
_FAILURES: Final = frozenset({"BackoffLimitExceeded", "DeadlineExceeded"})


class Jobs:
    def __init__(
        self, setup: Setup, jobs: Informer[Workload], pods: Informer[Pod], creation: Creation, events: Events
    ) -> None:
        self._client, self._jobs, self._pods = setup.client, jobs.cache, pods.cache
        self._creation, self._events = creation, events
        self._reconciler = Reconciler(setup, "jobs", self._reconcile)
        self._tallies: dict[str, Tally] = {}
        """By the uid of the Job."""
        jobs.add_handler(self._note_job)
        pods.add_handler(owner_router(JOB, self._reconciler.soon, lambda _: []))

    def _note_job(self, change: Change[Workload]) -> None:
        if change.new is None and change.old is not None:
            self._tallies.pop(change.old.metadata.uid, None)
        self._reconciler.add((change.namespace, change.name))

    async def _reconcile(self, key: Key) -> None:
        job = self._jobs.get(*key)
        if job is None:
            return
        pods = await claim_pods(self._client, JOB, job, self._pods, selector_of(job.spec.get("selector")))
        former = self._tallies.pop(job.metadata.uid, None)
        decision = decide(job, pods, tally=former, back_off_s=_back_off_s(job), now=datetime.now(UTC))
        if decision.tally is not None and self._jobs.get(*key) is not None:
            self._tallies[job.metadata.uid] = decision.tally
        if decision.expired:
            await self._delete(job)
            return
        failure = await self._act(job, decision)
        if decision.status is not None:
            await self._client.merge(JOB.path(*key, "status"), status_patch(decision.status, *REQUIRED))
        for reason, message in decision.events:
            type_: EventType = "Warning" if reason in _FAILURES else "Normal"
            self._events.record(JOB, job.metadata, reason, message, by=COMPONENT, type_=type_)
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if failure:
            raise ApiError(failure)

    async def _act(self, job: Workload, decision: Decision) -> str:
        if decision.delete:
            await self._creation.delete(job.metadata, decision.delete)
        if not decision.create:
            return ""
        return await self._creation.create(job.metadata, [_pod(job, index) for index in decision.create])

    async def _delete(self, job: Workload) -> None:
        options: JsonObject = {"propagationPolicy": "Foreground", "preconditions": {"uid": job.metadata.uid}}
        try:
            await self._client.delete(JOB.path(*job.key), options)
        except NotFoundError:
            return


def _pod(job: Workload, index: int | None) -> JsonObject:
    template, meta = job.spec.get("template") or {}, job.metadata
    if index is None:
        return pod_from(template, kind=JOB, owner=meta, name=suffixed(meta.name, random_suffix()))
    stem = f"{meta.name}-{index}"
    pod = pod_from(
        template,
        kind=JOB,
        owner=meta,
        name=suffixed(stem, random_suffix()),
        labels={INDEX: str(index)},
        annotations={INDEX: str(index)},
    )
    return {
        **pod,
        "metadata": {**pod["metadata"], "generateName": f"{stem}-"},
        "spec": {**with_index(pod["spec"]), "hostname": stem},
    }


def _back_off_s(job: Workload) -> float:
    """The first back-off after a failed Pod; the annotation of the Pods' template shortens it."""
    given = ((job.spec.get("template") or {}).get("metadata") or {}).get("annotations") or {}
    try:
        return parse_duration(given[BACK_OFF]) / 1e9 if BACK_OFF in given else _BACK_OFF_S
    except DurationError:
        return _BACK_OFF_S
