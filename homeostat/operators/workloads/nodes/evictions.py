"""Deletes the Pods of a Node that do not tolerate its taints, when their time is over."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.family import BY_NODE
from homeostat.operators.workloads.nodes.failure import stays_s
from homeostat.operators.workloads.pods.status import DISRUPTED, disruption, other_conditions
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

_COMPONENT: Final = "taint-eviction-controller"


class Evictions:
    def __init__(self, setup: Setup, pods: Informer[Pod], nodes: Informer[Workload], events: Events) -> None:
        self._client, self._pods, self._nodes, self._events = setup.client, pods.cache, nodes.cache, events
        self._clock = asyncio.get_running_loop().time
        self._since: dict[str, float] = {}
        """By uid: since when a Pod has been on a Node with such a taint."""
        self._tainted: set[str] = set()
        self._reconciler = Reconciler(setup, "evictions", self._reconcile, workers=4)
        nodes.add_handler(self._note_node)
        pods.add_handler(self._note_pod)

    def _note_node(self, change: Change[Workload]) -> None:
        taints = [] if change.new is None else change.new.spec.get("taints") or []
        was_tainted = change.name in self._tainted
        self._tainted.discard(change.name)
        if any(each.get("effect") == "NoExecute" for each in taints):
            self._tainted.add(change.name)
        if was_tainted or change.name in self._tainted:
            for pod in self._pods.indexed(BY_NODE, change.name):
                self._reconciler.add(pod.key)

    def _note_pod(self, change: Change[Pod]) -> None:
        if change.new is None:
            if change.old is not None:
                self._since.pop(change.old.metadata.uid, None)
        elif change.new.spec.node_name in self._tainted:
            self._reconciler.add((change.namespace, change.name))

    async def _reconcile(self, key: Key) -> None:
        pod = self._pods.get(*key)
        if pod is None or pod.metadata.is_terminating:
            return
        node = self._nodes.get("", pod.spec.node_name) if pod.spec.node_name else None
        limit_s = None if node is None else stays_s(pod.spec, node.spec.get("taints") or ())
        if limit_s is None:
            self._since.pop(pod.metadata.uid, None)
            return
        left_s = self._since.setdefault(pod.metadata.uid, self._clock()) + limit_s - self._clock()
        if left_s > 0:
            self._reconciler.add(key, after_s=left_s)
        else:
            await self._evict(pod)

    async def _evict(self, pod: Pod) -> None:
        now = format_time(datetime.now(UTC))
        condition = disruption(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", now)
        metadata: JsonObject = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
        conditions = [condition, *other_conditions(pod, (DISRUPTED,))]
        try:
            path = POD.path(*pod.key, "status")
            await self._client.merge(path, {"metadata": metadata, "status": {"conditions": conditions}})
            await self._client.delete(POD.path(*pod.key), {"preconditions": {"uid": pod.metadata.uid}})
        except NotFoundError:
            return
        message = f"Marking for deletion Pod {pod.metadata.namespace}/{pod.metadata.name}"
        self._events.record(POD, pod.metadata, "TaintManagerEviction", message, by=_COMPONENT)
