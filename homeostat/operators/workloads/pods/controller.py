"""Schedules Pods, and reports of each what a kubelet would, by its fate."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import CONFIG_MAP, DAEMON_SET, POD
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import NODE, Pod, Rules, Workload
from homeostat.operators.workloads.availability import age_s
from homeostat.operators.workloads.events import KUBELET, Events
from homeostat.operators.workloads.family import BY_CLAIM, BY_NODE
from homeostat.operators.workloads.nodes.failure import FAILURES, UNREACHABLE, is_given_up
from homeostat.operators.workloads.pods.addresses import Addresses
from homeostat.operators.workloads.pods.admission import Rejection, may_be_rejected, rejection
from homeostat.operators.workloads.pods.binder import Binder
from homeostat.operators.workloads.pods.decide import decide, elapsed_before, limited, stopped
from homeostat.operators.workloads.pods.ephemeral import NONE, Ephemeral, decide_ephemeral
from homeostat.operators.workloads.pods.kubelet_events import record_shown
from homeostat.operators.workloads.pods.rules import SHARED_NAMESPACE, Fate, Rulebook, RuleError
from homeostat.operators.workloads.pods.state import PodState
from homeostat.operators.workloads.pods.status import (
    orphaned_status,
    other_conditions,
    rejected_status,
    shows,
    status_of,
    unready_condition,
)
from homeostat.operators.workloads.pods.writing import patch_status
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.scheduling.fit import NodeFacts
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_WORKERS = 64
_NODE_WITHIN_S = 10.0
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
        self._rulebook = rulebook
        self._began: dict[str, tuple[Fate, float]] = {}
        """By uid: the fate of a Pod, and since when."""
        self._stopping: dict[str, float] = {}
        """By uid: since when the containers of a Pod are being stopped."""
        self._reconciler = Reconciler(setup, "pods", self._reconcile, workers=_WORKERS)
        caches = (pods.cache, claims.cache, budgets.cache)
        self._binder = Binder(setup.client, *caches, scheduler=scheduler, events=events, again=self._reconciler.add)
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
            self._binder.wake()
        self._reconciler.add(key)

    def _forget(self, key: Key, pod: Pod | None) -> None:
        self._binder.forget(key)
        if pod is not None:
            self._began.pop(pod.metadata.uid, None)
            self._stopping.pop(pod.metadata.uid, None)
            self._addresses.free(pod.status.pod_ip)
        if self._scheduler.release(key):
            self._binder.wake()

    def _note_node(self, change: Change[Workload]) -> None:
        former = self._scheduler.node(change.name)
        if change.new is None:
            self._scheduler.remove_node(change.name)
        elif self._scheduler.set_node(change.new):
            self._binder.wake()
        now = self._scheduler.node(change.name)
        if former is None or now is None or _fate_of(former) != _fate_of(now) or not former.allocatable:
            for pod in self._pods.cache.indexed(BY_NODE, change.name):
                self._reconciler.add(pod.key)

    def _note_claim(self, change: Change[Workload]) -> None:
        for pod in self._pods.cache.indexed(BY_CLAIM, (change.namespace, change.name)):
            if not pod.spec.node_name:
                self._reconciler.add(pod.key)

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
                elif self._schedules and is_given_up(facts):
                    await self._give_up(pod)
            elif node and facts is None:
                await self._leave(pod)
            elif pod.is_finished:
                return
            elif facts is not None and facts.outcome in FAILURES:
                await self._show_unready(pod)
            elif facts is not None:
                # Without these no kubelet has reported the Node yet.
                if facts.allocatable:
                    await self._show(pod, facts)
            elif self._schedules:
                await self._binder.schedule(pod)
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
            await self._write(pod, stopped(pod), self._scheduler.node(pod.spec.node_name))
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

    async def _give_up(self, pod: Pod) -> None:
        """Ends a Pod whose Node will not come back to stop it."""
        if not pod.is_finished:
            await patch_status(self._client, pod, {"phase": "Failed"}, is_shared=True)
        await self._delete(pod)

    async def _leave(self, pod: Pod) -> None:
        """Deletes a Pod whose Node does not exist. One that was never shown there waits a little, because its Node may
        be created after it.
        """
        waited_s = age_s(pod, datetime.now(UTC))
        if not pod.status.pod_ip and waited_s < _NODE_WITHIN_S:
            self._reconciler.add(pod.key, after_s=_NODE_WITHIN_S - waited_s + 0.1)
            return
        try:
            await self._client.get(NODE.path("", pod.spec.node_name))
        except NotFoundError:
            if not pod.is_finished:
                await patch_status(
                    self._client, pod, orphaned_status(pod, format_time(datetime.now(UTC))), is_shared=True
                )
            await self._delete(pod)
        else:
            # The watch is behind; its event queues the Pod, too.
            self._reconciler.add(pod.key, after_s=_NODE_WITHIN_S)

    async def _show_unready(self, pod: Pod) -> None:
        """Of a Node that fails: nothing else is known of the Pod."""
        if pod.is_ready:
            now = format_time(datetime.now(UTC))
            conditions = [unready_condition(now), *other_conditions(pod, ("Ready",))]
            await patch_status(self._client, pod, {"conditions": conditions}, is_shared=True)
            self._events.record(POD, pod.metadata, "NodeNotReady", "Node is not ready", by=_NODES, type_="Warning")

    def _rejection(self, pod: Pod, node: NodeFacts) -> Rejection | None:
        """Why a kubelet would not admit a Pod; one that it runs already stays."""
        if pod.status.pod_ip:
            return None
        if not may_be_rejected(pod.spec, node, is_crowded=self._scheduler.is_crowded(pod.key)):
            return None
        on_node = (each for each in self._pods.cache.indexed(BY_NODE, node.name) if each.key != pod.key)
        return rejection(pod.spec, node, (each.spec for each in on_node if self._is_admitted(each)))

    def _is_admitted(self, pod: Pod) -> bool:
        return not pod.is_finished and bool(pod.status.pod_ip or pod.metadata.uid in self._began)

    async def _reject(self, pod: Pod, why: Rejection) -> None:
        """Not at once: whoever replaces the Pod on the same Node would do so without end. DaemonSets back off
        themselves.
        """
        now = datetime.now(UTC)
        left_s = _REJECTED_AFTER_S - age_s(pod, now)
        owner = pod.metadata.controller
        if left_s > 0 and not (owner is not None and owner.is_of(DAEMON_SET)):
            self._reconciler.add(pod.key, after_s=left_s)
            return
        await patch_status(self._client, pod, rejected_status(pod, why.reason, why.message, format_time(now)))
        self._events.record(POD, pod.metadata, why.reason, why.message, by=KUBELET, type_="Warning")

    async def _show(self, pod: Pod, node: NodeFacts) -> None:
        fate = self._fate(pod)
        now = self._loop.time()
        known, began = self._began.get(pod.metadata.uid, (None, now))
        if known is None and (why := self._rejection(pod, node)):
            await self._reject(pod, why)
            return
        clock = datetime.now(UTC)
        if known != fate:
            began = now - elapsed_before(pod, fate, age_s(pod, clock)) if known is None else now
            self._began[pod.metadata.uid] = fate, began
            if self._schedules and known is None and not pod.status.pod_ip and pod.metadata.controller is not None:
                self._binder.record_scheduled(pod, pod.spec.node_name)
        decision = limited(pod, decide(pod, fate, now - began), clock)
        state = decision.state
        ephemeral = NONE if state is None else decide_ephemeral(pod, clock, is_over=state.is_over)
        waits_s = [each for each in (decision.again_s, ephemeral.again_s) if each is not None]
        if waits_s:
            self._reconciler.add(pod.key, after_s=max(min(waits_s), 0.001))
        if state is not None and not (shows(pod, state) and ephemeral.is_shown):
            await self._write(pod, state, node, ephemeral)

    def _fate(self, pod: Pod) -> Fate:
        try:
            return self._rulebook.fate(pod)
        except RuleError as error:
            self._events.record(POD, pod.metadata, "InvalidRule", str(error), by="workloads", type_="Warning")
            return self._rulebook.usual

    async def _write(self, pod: Pod, state: PodState, node: NodeFacts | None, ephemeral: Ephemeral = NONE) -> None:
        host = node.address if node is not None else ""
        is_new, is_on_host = not pod.status.pod_ip, pod.spec.host_network and bool(host)
        ip = pod.status.pod_ip or (host if is_on_host else self._addresses.take())
        now = format_time(datetime.now(UTC))
        status = status_of(pod, state, now=now, ip=ip, host_ip=host, ephemeral=ephemeral.statuses)
        try:
            await patch_status(self._client, pod, status)
        except BaseException:
            if is_new and not is_on_host:
                self._addresses.free(ip)
            raise
        record_shown(self._events, pod, state, is_new=is_new)


def _fate_of(node: NodeFacts) -> tuple[str, bool]:
    return node.outcome, is_given_up(node)
