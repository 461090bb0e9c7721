"""Serves `metrics.k8s.io`, so that `kubectl top` and autoscalers of others see what simulated Pods use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeVar

from homeostat.edge.turn import Turn
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.objects.selectors import LabelSelector
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import LOAD, OUTCOME, REPLICATION_CONTROLLER, Pod, Workload
from homeostat.operators.workloads.autoscalers.controller import SCALED
from homeostat.operators.workloads.autoscalers.usage import Use, UseError, parse_use
from homeostat.operators.workloads.metrics.objects import (
    NODE_METRICS,
    NODE_SCHEMA,
    POD_METRICS,
    POD_SCHEMA,
    Uses,
    node_metrics,
    pod_metrics,
    uses_of,
)
from homeostat.operators.workloads.nodes.failure import FAILURES
from homeostat.operators.workloads.pods.rules import Rulebook, RuleError
from homeostat.operators.workloads.replicas.decide import selector_of_set
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

T = TypeVar("T")
_MANY: Final = 1_000


class Load:
    """What the ready Pods of a workload use together."""

    def __init__(self, namespace: str, selector: LabelSelector, uses: Mapping[str, Use]) -> None:
        self._namespace, self._selector, self.uses = namespace, selector, uses
        self.sharers = 0

    def selects(self, pod: Pod) -> bool:
        return pod.metadata.namespace == self._namespace and self._selector.matches(pod.metadata.labels)


class Measured(NamedTuple):
    pod: Pod
    own: Mapping[str, Use]
    load: Load | None


class MetricsReader:
    def __init__(self, setup: Setup, pods: Informer[Pod], nodes: Informer[Workload], rulebook: Rulebook) -> None:
        self._pods, self._nodes, self._rulebook = pods.cache, nodes.cache, rulebook
        self._targets = [(kind, setup.watch(kind, Workload).cache) for kind in SCALED]
        self._clock = asyncio.get_running_loop().time
        setup.compute(POD_METRICS, self.read_pods, POD_SCHEMA)
        setup.compute(NODE_METRICS, self.read_nodes, NODE_SCHEMA)

    async def read_pods(self, namespace: str) -> list[JsonObject]:
        """Of running Pods that an annotation or a rule covers."""
        now = format_time(datetime.now(UTC))
        measured = await self._measured(namespace)
        return await _in_thread(lambda: [pod_metrics(pod, uses, now) for pod, uses in _uses(measured)], measured)

    async def read_nodes(self, _: str) -> list[JsonObject]:
        now = format_time(datetime.now(UTC))
        measured = await self._measured("")
        by_node: dict[str, list[Uses]] = {}
        for pod, uses in await _in_thread(lambda: _uses(measured), measured):
            by_node.setdefault(pod.spec.node_name, []).append(uses)
        nodes = [each for each in self._nodes if each.metadata.annotations.get(OUTCOME) not in FAILURES]
        found = [node_metrics(each.metadata, by_node.get(each.metadata.name, ()), now) for each in nodes]
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def _measured(self, namespace: str) -> list[Measured]:
        found = []
        loads, turn = self._loads(namespace), Turn()
        for pod in [*(self._pods.in_namespace(namespace) if namespace else self._pods)]:
            await turn.pause()
            if pod.is_active and pod.status.phase == "Running":
                load = next((each for each in loads if pod.is_ready and each.selects(pod)), None)
                if load is not None:
                    load.sharers += 1
                found.append(Measured(pod, self._own(pod), load))
        return found

    def _own(self, pod: Pod) -> Mapping[str, Use]:
        try:
            text = self._rulebook.fate(pod).use
            return parse_use(text) if text else {}
        except (RuleError, UseError):
            return {}  # The controllers of Pods and autoscalers say so.

    def _loads(self, namespace: str) -> list[Load]:
        found = []
        for kind, cache in self._targets:
            for each in cache.in_namespace(namespace) if namespace else cache:
                if text := each.metadata.annotations.get(LOAD):
                    found += _load(kind, each, text)
        return found


def _load(kind: Kind, workload: Workload, text: str) -> list[Load]:
    """None if it is invalid."""
    try:
        selector = selector_of_set(workload, is_plain=kind is REPLICATION_CONTROLLER)
        return [Load(workload.metadata.namespace, selector, parse_use(text))]
    except (BadRequestError, UseError):
        return []


def _uses(measured: Iterable[Measured]) -> list[tuple[Pod, Uses]]:
    """Those that are known, by namespace and name."""
    found = [
        (pod, uses_of(pod, own, load.uses if load else {}, among=load.sharers if load else 1))
        for pod, own, load in measured
    ]
    return sorted((each for each in found if each[1]), key=lambda each: each[0].key)


async def _in_thread(work: Callable[[], list[T]], measured: Sequence[Measured]) -> list[T]:
    """In a thread if there are many: 10,000 take a tenth of a second."""
    return await asyncio.to_thread(work) if len(measured) > _MANY else work()
