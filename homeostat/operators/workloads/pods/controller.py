"""Schedules Pods, and reports of each what a kubelet would, by its fate."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, POD
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import NODE, Pod, Rules, Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.events import KUBELET, SCHEDULER, Events
from homeostat.operators.workloads.family import BY_CLAIM, BY_NODE
from homeostat.operators.workloads.nodes.failure import FAILURES, UNREACHABLE
from homeostat.operators.workloads.pods.addresses import Addresses
from homeostat.operators.workloads.pods.decide import decide, decide_deadline, elapsed_before
from homeostat.operators.workloads.pods.kubelet_events import record_shown
from homeostat.operators.workloads.pods.rules import SHARED_NAMESPACE, Fate, Rulebook, RuleError
from homeostat.operators.workloads.pods.status import (
    Picture,
    has_others,
    other_conditions,
    preempted_condition,
    shows,
    status_of,
    unready_condition,
)
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.scheduling.fit import NO_PORTS, host_ports, lacks_ports
from homeostat.operators.workloads.scheduling.preemption import NOT_STARTED
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.operators.workloads.volumes.binding import unbound
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_WORKERS = 64
_RETRY_UNSCHEDULABLE_S = 0.05
_BEHIND_CHANGES_S = 0.001
"""The queue hands out what waited after what has changed."""
_NODE_WITHIN_S = 10.0
_CLAIMS_WITHIN_S = 2.0
_REJECTED_AFTER_S = 1.0
_NODES = "node-controller"


class Pods:
    def __init__(
        self,
        setup: Setup,
        pods: Informer[Pod],
        nodes: Informer[Workload],
        rules: Informer[Rules],
        claims: Informer[Workload],
        budgets: Informer[Workload],
        *,
        scheduler: Scheduler,
        events: Events,
        rulebook: Rulebook,
        schedules: bool,
    ) -> None:
        self._client, self._pods, self._scheduler, self._events = setup.client, pods, scheduler, events
        self._schedules, self._loop = schedules, asyncio.get_running_loop()
        self._addresses = Addresses()
        self._rulebook, self._claims, self._budgets = rulebook, claims.cache, budgets.cache
        self._began: dict[str, tuple[Fate, float]] = {}
        """By uid: the fate of a Pod, and since when."""
        self._stopping: dict[str, float] = {}
        """By uid: since when the containers of a Pod are being stopped."""
        self._unschedulable: set[Key] = set()
        self._retry: asyncio.TimerHandle | None = None
        """When those are tried again."""
        self._reconciler = Reconciler(setup, "pods", self._reconcile, workers=_WORKERS)
        nodes.add_handler(self._note_node)
        rules.add_handler(self._note_rules)
        claims.add_handler(self._note_claim)
        pods.add_handler(self._note_pod)

    def _note_pod(self, change: Change[Pod]) -> None:
        key, pod, old = (change.namespace, change.name), change.new, change.old
        if pod is None:
            self._forget(key, old)
            return
        if old is not None and old.metadata.uid != pod.metadata.uid:
            self._forget(key, old)
        self._scheduler.observe(pod)
        if pod.status.pod_ip and (old is None or old.status.pod_ip != pod.status.pod_ip):
            self._addresses.note(pod.status.pod_ip)
        if pod.is_finished:
            self._began.pop(pod.metadata.uid, None)
            self._wake_unschedulable()
        self._reconciler.add(key)

    def _forget(self, key: Key, pod: Pod | None) -> None:
        self._unschedulable.discard(key)
        if pod is not None:
            self._began.pop(pod.metadata.uid, None)
            self._stopping.pop(pod.metadata.uid, None)
            self._addresses.free(pod.status.pod_ip)
        if self._scheduler.release(key):
            self._wake_unschedulable()

    def _note_node(self, change: Change[Workload]) -> None:
        former = self._scheduler.node(change.name)
        if change.new is None:
            self._scheduler.remove_node(change.name)
        elif self._scheduler.set_node(change.new):
            self._wake_unschedulable()
        now = self._scheduler.node(change.name)
        if former is None or now is None or former.outcome != now.outcome:
            for pod in self._pods.cache.indexed(BY_NODE, change.name):
                self._reconciler.add(pod.key)

    def _note_claim(self, change: Change[Workload]) -> None:
        for pod in self._pods.cache.indexed(BY_CLAIM, (change.namespace, change.name)):
            if not pod.spec.node_name:
                self._reconciler.add(pod.key)

    def _wake_unschedulable(self) -> None:
        """Once for all that happens until then: with thousands of them, one by one would block the event loop."""
        if self._unschedulable and self._retry is None:
            self._retry = self._loop.call_later(_RETRY_UNSCHEDULABLE_S, self._try_unschedulable)

    def _try_unschedulable(self) -> None:
        self._retry = None
        for key in sorted(self._unschedulable, key=self._rank):
            self._reconciler.add(key, after_s=_BEHIND_CHANGES_S)

    def _rank(self, key: Key) -> tuple[int, Key]:
        """The most important Pods first."""
        pod = self._pods.cache.readable(*key)
        return (-pod.spec.priority if pod is not None else 0, key)

    def _note_rules(self, change: Change[Rules]) -> None:
        faults = self._rulebook.note((change.namespace, change.name), change.new)
        if change.new is not None:
            for fault in faults:
                self._events.record(
                    CONFIG_MAP, change.new.metadata, "InvalidRule", fault, by="workloads", type_="Warning"
                )
        is_shared = change.namespace == SHARED_NAMESPACE
        pods = self._pods.cache if is_shared else self._pods.cache.in_namespace(change.namespace)
        for pod in pods:
            self._reconciler.add(pod.key)

    async def _reconcile(self, key: Key) -> None:
        pod = self._pods.cache.get(*key)
        if pod is None:
            return
        node = pod.spec.node_name
        try:
            facts = self._scheduler.node(node) if node else None
            if pod.metadata.is_terminating:
                if facts is None or facts.outcome != UNREACHABLE:
                    await self._stop(pod)
            elif node and facts is None:
                await self._leave(pod)
            elif pod.is_finished:
                return
            elif facts is not None and facts.outcome in FAILURES:
                await self._show_unready(pod)
            elif not pod.spec.node_name:
                await self._schedule(pod)
            else:
                await self._show(pod)
        except NotFoundError:
            return  # It was deleted; the watch will say so.

    async def _stop(self, pod: Pod) -> None:
        """Ends a Pod whose deletion waits for its containers to stop."""
        grace_s = pod.metadata.deletion_grace_period_seconds or 0
        left_s = self._stopping_s(pod, grace_s)
        if left_s > 0:
            self._reconciler.add(pod.key, after_s=left_s)
            return
        if pod.metadata.finalizers and pod.status.pod_ip and not pod.is_finished:
            # Whoever holds the Pod back sees that its containers have stopped; nobody would see it otherwise.
            await self._write(pod, Picture("succeeded", "Completed", restarts=pod.most_restarts))
        if grace_s:
            await self._delete(pod)

    def _stopping_s(self, pod: Pod, grace_s: int) -> float:
        now, uid = self._loop.time(), pod.metadata.uid
        if uid not in self._stopping:
            self._stopping[uid] = now
            for container in pod.spec.containers if pod.status.pod_ip and not pod.is_finished else ():
                message = f"Stopping container {container.name}"
                self._events.record(POD, pod.metadata, "Killing", message, by=KUBELET)
        if pod.is_finished or not pod.status.pod_ip or self._scheduler.node(pod.spec.node_name) is None:
            return 0.0
        sleeps_s = max((each.pre_stop_s for each in pod.spec.containers), default=0)
        return self._stopping[uid] + min(sleeps_s + self._fate(pod).stop_after_s, float(grace_s)) - now

    async def _delete(self, pod: Pod) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
        await self._client.delete(POD.path(*pod.key), options)

    async def _leave(self, pod: Pod) -> None:
        """Deletes a Pod whose Node does not exist. One that was never shown there waits a little, because its Node may
        be created after it.
        """
        waited_s = _age_s(pod)
        if not pod.status.pod_ip and waited_s < _NODE_WITHIN_S:
            self._reconciler.add(pod.key, after_s=_NODE_WITHIN_S - waited_s + 0.1)
            return
        try:
            await self._client.get(NODE.path("", pod.spec.node_name))
        except NotFoundError:
            await self._delete(pod)
        else:
            # The watch is behind; its event queues the Pod, too.
            self._reconciler.add(pod.key, after_s=_NODE_WITHIN_S)

    async def _schedule(self, pod: Pod) -> None:
        if not self._schedules or pod.spec.scheduling_gates or pod.spec.scheduler_name != SCHEDULER:
            return
        claims = ((name, self._claims.get(pod.metadata.namespace, name)) for name in pod.spec.claims)
        why = unbound(claims)
        if why and _age_s(pod) < _CLAIMS_WITHIN_S:
            # Its claims are usually bound in a moment, and the watch says so.
            self._reconciler.add(pod.key, after_s=_CLAIMS_WITHIN_S)
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
        self._record_scheduled(pod, node)

    async def _preempt(self, pod: Pod) -> None:
        """Deletes Pods of lower priority if the Pod fits then; it is bound when they are gone."""
        nominated = pod.status.nominated_node_name
        leaving = self._pods.cache.indexed(BY_NODE, nominated) if nominated else ()
        if any(each.metadata.is_terminating and each.spec.priority < pod.spec.priority for each in leaving):
            return
        node, victims = self._scheduler.victims(
            pod.key, pod.spec, pod.metadata.labels, budgets=self._budgets, started=self._started
        )
        # Before any of them leaves: whoever replaces one would take its place.
        for key in self._scheduler.nominate(pod.key, node, pod.spec) if node else ():
            await self._dismiss(key)
        for key in victims:
            if (victim := self._pods.cache.get(*key)) is not None and not victim.metadata.is_terminating:
                with suppress(NotFoundError):
                    await self._end_victim(victim, pod, node)
        # A more important Pod may have taken the room meanwhile.
        if node and node != nominated and self._scheduler.nomination(pod.key) == node:
            await self._patch(pod, {"nominatedNodeName": node})

    async def _dismiss(self, key: Key) -> None:
        """Takes back the Node that a Pod waits for; it looks for another one."""
        # Also if the cache shows none: a write of it may be on its way.
        if (pod := self._pods.cache.readable(*key)) is not None:
            with suppress(NotFoundError):
                await self._patch(pod, {"nominatedNodeName": None})
        self._reconciler.add(key)

    def _started(self, key: Key) -> str:
        found = self._pods.cache.get(*key)
        return (found.status.start_time if found is not None else "") or NOT_STARTED

    async def _end_victim(self, victim: Pod, pod: Pod, node: str) -> None:
        condition = preempted_condition(victim, format_time(datetime.now(UTC)))
        conditions = [condition, *other_conditions(victim, (condition["type"],))]
        await self._patch(victim, {"conditions": conditions}, is_shared=True)
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
        await self._patch(pod, {"conditions": conditions})
        self._events.record(POD, pod.metadata, "FailedScheduling", message, by=SCHEDULER, type_="Warning")

    async def _show_unready(self, pod: Pod) -> None:
        """Of a Node that fails: nothing else is known of the Pod."""
        if pod.is_ready:
            now = format_time(datetime.now(UTC))
            conditions = [unready_condition(now), *other_conditions(pod, ("Ready",))]
            await self._patch(pod, {"conditions": conditions}, is_shared=True)
            self._events.record(POD, pod.metadata, "NodeNotReady", "Node is not ready", by=_NODES, type_="Warning")

    def _is_unfit(self, pod: Pod) -> bool:
        """Whether a kubelet would reject a Pod that somebody has put on a Node whose ports are taken."""
        others = self._pods.cache.indexed(BY_NODE, pod.spec.node_name) if host_ports(pod.spec) else ()
        running = (each.spec for each in others if each.status.pod_ip and not each.is_finished)
        return not pod.status.pod_ip and lacks_ports(pod.spec, running)

    async def _reject(self, pod: Pod) -> None:
        """Not at once: whoever replaces the Pod on the same Node would do so without end."""
        left_s = _REJECTED_AFTER_S - _age_s(pod)
        if left_s > 0:
            self._reconciler.add(pod.key, after_s=left_s)
            return
        message = f"Predicate NodePorts failed: {NO_PORTS}"
        status: JsonObject = {"phase": "Failed", "reason": "NodePorts", "message": f"Pod was rejected: {message}"}
        if pod.metadata.generation:
            status["observedGeneration"] = pod.metadata.generation
        await self._patch(pod, status)
        self._events.record(POD, pod.metadata, "NodePorts", message, by=KUBELET, type_="Warning")

    async def _show(self, pod: Pod) -> None:
        if self._is_unfit(pod):
            await self._reject(pod)
            return
        fate = self._fate(pod)
        now = self._loop.time()
        known, began = self._began.get(pod.metadata.uid, (None, now))
        if known != fate:
            began = now - elapsed_before(pod, fate, _age_s(pod)) if known is None else now
            self._began[pod.metadata.uid] = fate, began
            if self._schedules and known is None and not pod.status.pod_ip and pod.metadata.controller is not None:
                self._record_scheduled(pod, pod.spec.node_name)
        limited, decision = decide_deadline(pod, datetime.now(UTC)), decide(pod, fate, now - began)
        if limited.picture is not None:
            decision = limited
        waits_s = [each for each in (limited.again_s, decision.again_s) if each is not None]
        if waits_s:
            self._reconciler.add(pod.key, after_s=max(min(waits_s), 0.001))
        if decision.picture is not None and not shows(pod, decision.picture):
            await self._write(pod, decision.picture)

    def _fate(self, pod: Pod) -> Fate:
        try:
            return self._rulebook.fate(pod)
        except RuleError as error:
            self._events.record(POD, pod.metadata, "InvalidRule", str(error), by="workloads", type_="Warning")
            return self._rulebook.usual

    async def _write(self, pod: Pod, picture: Picture) -> None:
        node = self._scheduler.node(pod.spec.node_name)
        host = node.address if node is not None else ""
        is_new, is_on_host = not pod.status.pod_ip, pod.spec.host_network and bool(host)
        ip = pod.status.pod_ip or (host if is_on_host else self._addresses.take())
        status = status_of(pod, picture, now=format_time(datetime.now(UTC)), ip=ip, host_ip=host)
        try:
            await self._patch(pod, status)
        except BaseException:
            if is_new and not is_on_host:
                self._addresses.free(ip)
            raise
        record_shown(self._events, pod, picture, is_new=is_new)

    async def _patch(self, pod: Pod, status: JsonObject, *, is_shared: bool = False) -> None:
        """A patch of a Pod that others write to names the version that it is for."""
        patch: JsonObject = {"status": status}
        if is_shared or has_others(pod):
            patch["metadata"] = {"resourceVersion": pod.metadata.resource_version}
        await self._client.merge(POD.path(*pod.key, "status"), patch)

    def _record_scheduled(self, pod: Pod, node: str) -> None:
        message = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {node}"
        self._events.record(POD, pod.metadata, "Scheduled", message, by=SCHEDULER)


def _age_s(pod: Pod) -> float:
    now = datetime.now(UTC)
    return (now - time_of(pod.metadata.creation_timestamp, now)).total_seconds()
