"""Places Pods on Nodes, in memory: which Node has how much left.

It starts where the last Pod was placed, and takes the emptiest of the first few Nodes that fit, so that a placement
does not compare all Nodes. A Pod counts from the moment it is placed, before the watch has delivered it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from homeostat.operators.workloads.api import Pod, PodSpec, Workload
from homeostat.operators.workloads.reconciler import Key
from homeostat.operators.workloads.scheduling.fit import (
    PODS,
    Amounts,
    NodeFacts,
    facts_of,
    fit_error,
    obstacle,
    requests_of,
)

_COMPARED: Final = 4


class Placed(msgspec.Struct, frozen=True, gc=False):
    node: str
    requests: tuple[tuple[str, int], ...]


class Scheduler:
    def __init__(self) -> None:
        self._nodes: dict[str, NodeFacts] = {}
        self._order: list[str] = []
        self._used: dict[str, Amounts] = {}
        self._placed: dict[Key, Placed] = {}
        self._next = 0

    def set_node(self, node: Workload) -> bool:
        """Whether Pods may fit now that did not fit before, or the other way round."""
        name, facts = node.metadata.name, facts_of(node)
        if self._nodes.get(name) == facts:
            return False
        if name not in self._nodes:
            self._order.append(name)
        self._nodes[name] = facts
        return True

    def remove_node(self, name: str) -> None:
        if self._nodes.pop(name, None) is not None:
            self._order.remove(name)

    def node(self, name: str) -> NodeFacts | None:
        return self._nodes.get(name)

    @property
    def nodes(self) -> Iterable[NodeFacts]:
        return self._nodes.values()

    def place(self, key: Key, spec: PodSpec) -> str:
        """The Node for a Pod, which counts there from now on; empty if it fits on none."""
        requests = requests_of(spec)
        found = self._choose(spec, requests)
        if found:
            self._note(key, found, requests)
        return found

    def explain(self, spec: PodSpec, why: str = "") -> str:
        """Why the Pod fits on no Node; `why` if that is known."""
        requests = requests_of(spec)
        nodes = self._nodes.values()
        if why and nodes:
            total = len(nodes)
            helpless = f"preemption: 0/{total} nodes are available: {total} Preemption is not helpful for scheduling."
            return f"0/{total} nodes are available: {why}. {helpless}"
        return fit_error(len(nodes), Counter(obstacle(spec, requests, each, self._usage(each.name)) for each in nodes))

    def observe(self, pod: Pod) -> None:
        """A Pod as the watch shows it; finished ones use nothing."""
        node = pod.spec.node_name
        if pod.is_finished:
            self.release(pod.key)
        elif node and not ((placed := self._placed.get(pod.key)) and placed.node == node):
            self._note(pod.key, node, requests_of(pod.spec))

    def release(self, key: Key) -> bool:
        """Whether the Pod was placed."""
        placed = self._placed.pop(key, None)
        if placed is None:
            return False
        used = self._usage(placed.node)
        for name, amount in placed.requests:
            used[name] -= amount
        return True

    def _note(self, key: Key, node: str, requests: Amounts) -> None:
        self.release(key)
        used = self._usage(node)
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + amount
        self._placed[key] = Placed(node, tuple(requests.items()))

    def _usage(self, node: str) -> Amounts:
        found = self._used.get(node)
        if found is None:
            found = self._used[node] = {}
        return found

    def _choose(self, spec: PodSpec, requests: Amounts) -> str:
        order, nodes = self._order, self._nodes
        count, best, least, seen = len(order), "", 0, 0
        for step in range(count):
            name = order[(self._next + step) % count]
            used = self._usage(name)
            if obstacle(spec, requests, nodes[name], used):
                continue
            pods = used.get(PODS, 0)
            if not best or pods < least:
                best, least = name, pods
            seen += 1
            if seen >= _COMPARED:
                break
        self._next += 1
        return best
