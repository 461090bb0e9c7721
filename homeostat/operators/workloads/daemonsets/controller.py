"""Keeps a Pod of every DaemonSet on each of its Nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DAEMON_SET
from homeostat.objects.selectors import selector_of, selects
from homeostat.operators.workloads.api import Meta, Pod, Workload
from homeostat.operators.workloads.creation import Creation, random_suffix
from homeostat.operators.workloads.daemonsets.decide import GENERATION, REQUIRED, decide, spec_on, target_of
from homeostat.operators.workloads.daemonsets.failures import Failures
from homeostat.operators.workloads.daemonsets.update import HASH
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import claim_pods, owner_router
from homeostat.operators.workloads.naming import suffixed
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.revisions import Revisions
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.operators.workloads.selection import possible_selectors
from homeostat.operators.workloads.status import status_patch
from homeostat.operators.workloads.template import pod_from
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.recorder import EventType
from homeostat.runtime.setup import Setup

COMPONENT: Final = "daemonset-controller"
_ENDED: Final[dict[str, tuple[str, EventType]]] = {
    "failed": ("FailedDaemonPod", "Warning"),
    "succeeded": ("SucceededDaemonPod", "Normal"),
}
_DEPRECATED_GENERATION = "deprecated.daemonset.template.generation"


class DaemonSets:
    def __init__(
        self,
        setup: Setup,
        daemons: Informer[Workload],
        nodes: Informer[Workload],
        pods: Informer[Pod],
        *,
        revisions: Revisions,
        scheduler: Scheduler,
        creation: Creation,
        events: Events,
    ) -> None:
        self._client, self._daemons, self._pods = setup.client, daemons.cache, pods.cache
        self._revisions, self._scheduler, self._creation, self._events = revisions, scheduler, creation, events
        self._failures, self._clock = Failures(), asyncio.get_running_loop().time
        self._reconciler = Reconciler(setup, "daemonsets", self._reconcile)
        daemons.add_handler(lambda change: self._reconciler.add((change.namespace, change.name)))
        nodes.add_handler(self._note_node)
        pods.add_handler(owner_router(DAEMON_SET, self._reconciler.soon, self._possible_owners))

    def _note_node(self, change: Change[Workload]) -> None:
        for each in self._daemons:
            self._reconciler.soon(each.key)

    def _possible_owners(self, pod: Pod) -> list[Key]:
        return [
            each.key
            for each in possible_selectors(self._daemons, pod.metadata.namespace, pod.metadata.labels)
            if selects(each.spec.get("selector"), pod.metadata.labels)
        ]

    async def _reconcile(self, key: Key) -> None:
        daemon = self._daemons.get(*key)
        if daemon is None:
            return
        selector = selector_of(daemon.spec.get("selector"))
        pods = await claim_pods(self._client, DAEMON_SET, daemon, self._pods, selector)
        used = {each.metadata.labels.get(HASH, "") for each in pods}
        digest = (await self._revisions.current(DAEMON_SET, daemon, used)).hash
        held = self._held(daemon.metadata, pods)
        decision = decide(daemon, self._scheduler.nodes, pods, digest=digest, now=datetime.now(UTC), held=held)
        self._record_ended(daemon, [each for each in decision.delete if each.metadata.uid not in held])
        if decision.delete:
            await self._creation.delete(daemon.metadata, decision.delete)
        failure = ""
        if decision.create:
            new = [self._pod(daemon, node, digest) for node in decision.create]
            failure = await self._creation.create(daemon.metadata, new)
        if decision.status is not None:
            await self._client.merge(DAEMON_SET.path(*key, "status"), status_patch(decision.status, *REQUIRED))
        waits_s = [*held.values(), *([] if decision.again_s is None else [decision.again_s])]
        if waits_s:
            self._reconciler.add(key, after_s=min(waits_s))
        if failure:
            raise ApiError(failure)

    def _held(self, daemon: Meta, pods: Iterable[Pod]) -> dict[str, float]:
        """By uid: for how many seconds a failed Pod stays."""
        now = self._clock()
        failed = (each for each in pods if each.status.phase == "Failed" and not each.metadata.is_terminating)
        left_s = {each.metadata.uid: self._failures.left_s(daemon, target_of(each), now) for each in failed}
        return {uid: each for uid, each in left_s.items() if each > 0}

    def _record_ended(self, daemon: Workload, deleted: Iterable[Pod]) -> None:
        for pod in deleted:
            if pod.is_finished:
                what, verb = ("failed", "kill") if pod.status.phase == "Failed" else ("succeeded", "delete")
                if what == "failed":
                    self._failures.note(daemon.metadata, target_of(pod), self._clock())
                name = f"{pod.metadata.namespace}/{pod.metadata.name}"
                message = f"Found {what} daemon pod {name} on node {pod.spec.node_name}, will try to {verb} it"
                reason, type_ = _ENDED[what]
                self._events.record(DAEMON_SET, daemon.metadata, reason, message, by=COMPONENT, type_=type_)

    def _pod(self, daemon: Workload, node: str, digest: str) -> JsonObject:
        meta, template = daemon.metadata, daemon.spec.get("template") or {}
        generation = meta.annotations.get(_DEPRECATED_GENERATION, str(meta.generation))
        pod = pod_from(
            template,
            kind=DAEMON_SET,
            owner=meta,
            name=suffixed(meta.name, random_suffix()),
            labels={HASH: digest, GENERATION: generation},
        )
        return {**pod, "spec": spec_on(template, node)}
