"""Binds Pods to Nodes, and makes room for those that fit nowhere, as a scheduler does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Protocol

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import age_s
from homeostat.operators.workloads.events import SCHEDULER, Events
from homeostat.operators.workloads.family import BY_NODE
from homeostat.operators.workloads.pods.status import DISRUPTED, disruption, other_conditions
from homeostat.operators.workloads.pods.writing import patch_status
from homeostat.operators.workloads.reconciler import Key
from homeostat.operators.workloads.scheduling.preemption import NOT_STARTED
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.operators.workloads.volumes.binding import unbound
from homeostat.runtime.cache.cache import Cache

_RETRY_UNSCHEDULABLE_S: Final = 0.05
_BEHIND_CHANGES_S: Final = 0.001
"""The queue hands out what waited after what has changed."""
_CLAIMS_WITHIN_S: Final = 2.0
_PREEMPTED: Final = "PreemptionByScheduler"
_PREEMPTED_MESSAGE: Final = "default-scheduler: preempting to accommodate a higher priority pod"


class Again(Protocol):
    """Queues a Pod."""

    def __call__(self, key: Key, *, after_s: float = 0.0) -> None: ...


class Binder:
    def __init__(
        self,
        client: Client,
        pods: Cache[Pod],
        claims: Cache[Workload],
        budgets: Cache[Workload],
        *,
        scheduler: Scheduler,
        events: Events,
        again: Again,
    ) -> None:
        self._client, self._pods, self._claims, self._budgets = client, pods, claims, budgets
        self._scheduler, self._events, self._again = scheduler, events, again
        self._loop = asyncio.get_running_loop()
        self._unschedulable: set[Key] = set()
        self._retry: asyncio.TimerHandle | None = None
        """When those are tried again."""

    def forget(self, key: Key) -> None:
        self._unschedulable.discard(key)

    def wake(self) -> None:
        """Tries the unschedulable Pods again. Once for all that happens until then: with thousands of them, one by one
        would block the event loop.
        """
        if self._unschedulable and self._retry is None:
            self._retry = self._loop.call_later(_RETRY_UNSCHEDULABLE_S, self._try_unschedulable)

    def _try_unschedulable(self) -> None:
        self._retry = None
        for key in sorted(self._unschedulable, key=self._rank):
            self._again(key, after_s=_BEHIND_CHANGES_S)

    def _rank(self, key: Key) -> tuple[int, Key]:
        """The most important Pods first."""
        pod = self._pods.readable(*key)
        return (-pod.spec.priority if pod is not None else 0, key)

    async def schedule(self, pod: Pod) -> None:
        if pod.spec.scheduling_gates or pod.spec.scheduler_name != SCHEDULER:
            return
        claims = ((name, self._claims.get(pod.metadata.namespace, name)) for name in pod.spec.claims)
        why = unbound(claims)
        if why and age_s(pod, datetime.now(UTC)) < _CLAIMS_WITHIN_S:
            # Its claims are usually bound in a moment, and the watch says so.
            self._again(pod.key, after_s=_CLAIMS_WITHIN_S)
            return
        labels = pod.metadata.labels
        node = "" if why else self._scheduler.place(pod.key, pod.spec, labels)
        if not node:
            await self._report_unschedulable(pod, self._scheduler.explain(pod.key, pod.spec, labels, why))
            if not why:
                await self._preempt(pod)
            return
        self._unschedulable.discard(pod.key)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.metadata.name, "uid": pod.metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._client.create(POD.path(*pod.key, "binding"), binding)
        except ConflictError:
            self._scheduler.release(pod.key)
            raise
        self.record_scheduled(pod, node)

    async def _preempt(self, pod: Pod) -> None:
        """Deletes Pods of lower priority if the Pod fits then; it is bound when they are gone."""
        nominated = pod.status.nominated_node_name
        leaving = self._pods.indexed(BY_NODE, nominated) if nominated else ()
        if any(each.metadata.is_terminating and each.spec.priority < pod.spec.priority for each in leaving):
            return
        node, victims = self._scheduler.victims(
            pod.key, pod.spec, pod.metadata.labels, budgets=self._budgets, started=self._started
        )
        # Before any of them leaves: whoever replaces one would take its place.
        for key in self._scheduler.nominate(pod.key, node, pod.spec) if node else ():
            await self._dismiss(key)
        for key in victims:
            if (victim := self._pods.get(*key)) is not None and not victim.metadata.is_terminating:
                with suppress(NotFoundError):
                    await self._end_victim(victim, pod, node)
        # A more important Pod may have taken the room meanwhile.
        if node and node != nominated and self._scheduler.nomination(pod.key) == node:
            await patch_status(self._client, pod, {"nominatedNodeName": node})

    async def _dismiss(self, key: Key) -> None:
        """Takes back the Node that a Pod waits for; it looks for another one."""
        # Also if the cache shows none: a write of it may be on its way.
        if (pod := self._pods.readable(*key)) is not None:
            with suppress(NotFoundError):
                await patch_status(self._client, pod, {"nominatedNodeName": None})
        self._again(key)

    def _started(self, key: Key) -> str:
        found = self._pods.get(*key)
        return (found.status.start_time if found is not None else "") or NOT_STARTED

    async def _end_victim(self, victim: Pod, pod: Pod, node: str) -> None:
        now = format_time(datetime.now(UTC))
        conditions = [disruption(victim, _PREEMPTED, _PREEMPTED_MESSAGE, now), *other_conditions(victim, (DISRUPTED,))]
        await patch_status(self._client, victim, {"conditions": conditions}, is_shared=True)
        await self._client.delete(POD.path(*victim.key), {"preconditions": {"uid": victim.metadata.uid}})
        message = f"Preempted by pod {pod.metadata.uid} on node {node}"
        self._events.record(POD, victim.metadata, "Preempted", message, by=SCHEDULER)

    async def _report_unschedulable(self, pod: Pod, message: str) -> None:
        self._unschedulable.add(pod.key)
        former = pod.condition("PodScheduled")
        if former is not None and former.status == "False" and former.message == message:
            return
        now = format_time(datetime.now(UTC))
        since = (former.transitioned if former is not None and former.status == "False" else None) or now
        condition: JsonObject = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": since,
        }
        if pod.metadata.generation:
            condition["observedGeneration"] = pod.metadata.generation
        conditions = [condition, *other_conditions(pod, ("PodScheduled",))]
        await patch_status(self._client, pod, {"conditions": conditions})
        self._events.record(POD, pod.metadata, "FailedScheduling", message, by=SCHEDULER, type_="Warning")

    def record_scheduled(self, pod: Pod, node: str) -> None:
        message = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {node}"
        self._events.record(POD, pod.metadata, "Scheduled", message, by=SCHEDULER)
