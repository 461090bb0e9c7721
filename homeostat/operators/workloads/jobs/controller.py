"""Runs the Pods of Jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import selector_of
from homeostat.objects.time.duration import DurationError, parse_seconds
from homeostat.operators.workloads.api import BACK_OFF, JOB, Pod, Workload
from homeostat.operators.workloads.creation import Creation, random_suffix
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import claim_pods, owner_router
from homeostat.operators.workloads.jobs.counts import FAILURES, INDEX, Deleted, Tally
from homeostat.operators.workloads.jobs.decide import REQUIRED, Decision, decide, with_index
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
_QUICK_INDEXES: Final = 16_384
"""Characters of lists of indexes."""
_NORMAL: Final = frozenset({"Completed", "Suspended", "Resumed"})


_CONTROLLER = "kubernetes.io/job-controller"
"""In `spec.managedBy`; a Job that names another controller is left to that."""


class Jobs:
    def __init__(
        self, setup: Setup, jobs: Informer[Workload], pods: Informer[Pod], creation: Creation, events: Events
    ) -> None:
        self._client, self._jobs, self._pods = setup.client, jobs.cache, pods.cache
        self._creation, self._events = creation, events
        self._reconciler = Reconciler(setup, "jobs", self._reconcile)
        self._tallies: dict[str, Tally] = {}
        """By the uid of the Job."""
        self._gone: dict[str, dict[str, Pod]] = {}
        """By the uids of the Job and the Pod: Pods that were deleted and are not counted yet."""
        self._dismissed: set[str] = set()
        """The uids of Pods that their Jobs delete themselves."""
        jobs.add_handler(self._note_job)
        pods.add_handler(self._note_pod)
        pods.add_handler(owner_router(JOB, self._reconciler.soon, lambda _: []))

    def _note_job(self, change: Change[Workload]) -> None:
        if change.new is None and change.old is not None:
            self._tallies.pop(change.old.metadata.uid, None)
            self._gone.pop(change.old.metadata.uid, None)
        self._reconciler.add((change.namespace, change.name))

    def _note_pod(self, change: Change[Pod]) -> None:
        """Keeps a Pod that somebody deletes until it is counted: it may be gone before its Job is reconciled."""
        old, pod = change.old, change.new or change.old
        owner = None if pod is None else pod.metadata.controller
        if old is None or pod is None or owner is None or not owner.is_of(JOB):
            return
        job = self._jobs.get(change.namespace, owner.name)
        uid = pod.metadata.uid
        is_leaving = not old.metadata.is_terminating and (change.new is None or pod.metadata.is_terminating)
        is_of_job = job is not None and job.metadata.uid == owner.uid and _is_ours(job)
        if is_of_job and uid not in self._dismissed and (is_leaving or (change.new is None and old.is_finished)):
            self._gone.setdefault(owner.uid, {})[uid] = pod
        if change.new is None:
            self._dismissed.discard(uid)

    async def _reconcile(self, key: Key) -> None:
        job = self._jobs.get(*key)
        if job is None or not _is_ours(job):
            return
        pods = await claim_pods(self._client, JOB, job, self._pods, selector_of(job.spec.get("selector")))
        former = self._tallies.pop(job.metadata.uid, None)
        deleted = self._deleted(job, {each.metadata.uid for each in pods})
        reckon = partial(decide, job, pods, tally=former, deleted=deleted, back_off_s=_back_off_s(job))
        if _has_long_indexes(job):
            decision = await in_thread(lambda: reckon(now=datetime.now(UTC)), user=COMPONENT)
        else:
            decision = reckon(now=datetime.now(UTC))
        if decision.tally is not None and self._jobs.get(*key) is not None:
            self._tallies[job.metadata.uid] = decision.tally
        if decision.expired:
            await self._delete(job)
            return
        failure = await self._act(job, decision)
        if decision.status is not None:
            await self._client.merge(JOB.path(*key, "status"), status_patch(decision.status, *REQUIRED))
        for reason, message in decision.events:
            type_: EventType = "Normal" if reason in _NORMAL else "Warning"
            self._events.record(JOB, job.metadata, reason, message, by=COMPONENT, type_=type_)
        if decision.again_s is not None:
            self._reconciler.add(key, after_s=decision.again_s)
        if failure:
            raise ApiError(failure)

    def _deleted(self, job: Workload, present: Collection[str]) -> Deleted:
        """Those that are counted now. With the replacement policy Failed a Pod counts when it has stopped."""
        kept = self._gone.pop(job.metadata.uid, {})
        waits = job.spec.get("podReplacementPolicy") == "Failed"
        later = {uid: each for uid, each in kept.items() if waits and uid in present}
        if later:
            self._gone[job.metadata.uid] = later
        now = [each for uid, each in kept.items() if uid not in later]
        return Deleted(
            tuple(each for each in now if each.metadata.uid not in present),
            frozenset(each.metadata.uid for each in now if not each.is_finished),
        )

    async def _act(self, job: Workload, decision: Decision) -> str:
        if decision.delete:
            self._dismissed |= {each.metadata.uid for each in decision.delete if self._pods.get(*each.key) is not None}
            await self._creation.delete(job.metadata, decision.delete)
        if not decision.create:
            return ""
        return await self._creation.create(
            job.metadata, [_pod(job, index, decision.failures) for index in decision.create]
        )

    async def _delete(self, job: Workload) -> None:
        options: JsonObject = {"propagationPolicy": "Foreground", "preconditions": {"uid": job.metadata.uid}}
        try:
            await self._client.delete(JOB.path(*job.key), options)
        except NotFoundError:
            return


def _is_ours(job: Workload) -> bool:
    return bool(job.spec.get("managedBy", _CONTROLLER) == _CONTROLLER)


def _pod(job: Workload, index: int | None, failures: Mapping[int, int]) -> JsonObject:
    template, meta = job.spec.get("template") or {}, job.metadata
    if index is None:
        return pod_from(template, kind=JOB, owner=meta, name=suffixed(meta.name, random_suffix()))
    stem = f"{meta.name}-{index}"
    given = {} if job.spec.get("backoffLimitPerIndex") is None else {FAILURES: str(failures.get(index, 0))}
    pod = pod_from(
        template,
        kind=JOB,
        owner=meta,
        name=suffixed(stem, random_suffix()),
        labels={INDEX: str(index)},
        annotations={INDEX: str(index), **given},
    )
    return {
        **pod,
        "metadata": {**pod["metadata"], "generateName": f"{stem}-"},
        "spec": {**with_index(pod["spec"]), "hostname": stem},
    }


def _has_long_indexes(job: Workload) -> bool:
    """Whether its lists of indexes take so long to read that it would block the event loop."""
    rules = (job.spec.get("successPolicy") or {}).get("rules") or ()
    texts = [job.status.get("completedIndexes"), *(rule.get("succeededIndexes") for rule in rules)]
    return sum(len(each) for each in texts if isinstance(each, str)) > _QUICK_INDEXES


def _back_off_s(job: Workload) -> float:
    """The first back-off after a failed Pod; the annotation of the Pods' template shortens it."""
    given = ((job.spec.get("template") or {}).get("metadata") or {}).get("annotations") or {}
    try:
        return parse_seconds(given[BACK_OFF]) if BACK_OFF in given else _BACK_OFF_S
    except DurationError:
        return _BACK_OFF_S
