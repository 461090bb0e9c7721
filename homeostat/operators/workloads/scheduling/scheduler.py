"""Places Pods on Nodes, in memory: which Node has how much left, and which Pods are where.

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
    HELPLESS,
    PODS,
    Amounts,
    NodeFacts,
    facts_of,
    fit_error,
    no_victims,
    obstacle,
    requests_of,
)
from homeostat.operators.workloads.scheduling.neighbours import NO_WISHES, Neighbours, Term, Wishes, wishes_of
from homeostat.operators.workloads.scheduling.tallies import Group, Member, Tallies

_COMPARED: Final = 4
MOST_PLANS: Final = 32
"""Nodes that are compared for a preemption. kube-scheduler compares a tenth of them, 100 at least."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    node: str
    requests: tuple[tuple[str, int], ...]
    labels: dict[str, str]
    priority: int = 0
    apart: tuple[Term, ...] = ()
    """What it wants no Pods near it for."""

    def shows(self, pod: Pod) -> bool:
        """Whether the Pod is as it was placed. The server sets its priority, and others its labels."""
        spec = pod.spec
        return self.node == spec.node_name and self.priority == spec.priority and self.labels == pod.metadata.labels


class Scheduler:
    def __init__(self) -> None:
        self._nodes: dict[str, NodeFacts] = {}
        self._order: list[str] = []
        self._used: dict[str, Amounts] = {}
        self._placed: dict[Key, Placed] = {}
        self._on_node: dict[str, dict[Key, Placed]] = {}
        self._nominated: dict[Key, Placed] = {}
        """Pods that wait for others to leave a Node: their room there is not given to Pods of lower priority."""
        self._averse: dict[Term, Counter[str]] = {}
        """What placed Pods want no Pods near them for, and how many of them are on which Node."""
        self._tallies = Tallies()
        self._priorities: Counter[int] = Counter()
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

    def place(self, key: Key, spec: PodSpec, labels: dict[str, str]) -> str:
        """The Node for a Pod, which counts there from now on; empty if it fits on none."""
        requests = requests_of(spec)
        wishes = wishes_of(key[0], labels, spec)
        reserved = self._reserved(key, spec.priority)
        found = self._choose(spec, requests, self._neighbours(key, spec, labels, wishes), reserved)
        if found:
            self._note(key, found, requests, spec, labels, wishes)
        return found

    def nominate(self, key: Key, node: str, spec: PodSpec) -> None:
        """Reserves room on a Node for a Pod until it is placed or gone."""
        if key not in self._placed:
            self._nominated[key] = Placed(node, tuple(requests_of(spec).items()), {}, spec.priority)

    def _reserved(self, key: Key, priority: int) -> dict[str, Amounts]:
        """By Node: what is used there, and what Pods that are not less important wait for."""
        found: dict[str, Amounts] = {}
        for other, placed in self._nominated.items():
            if other != key and placed.priority >= priority:
                used = found.setdefault(placed.node, dict(self._usage(placed.node)))
                for name, amount in placed.requests:
                    used[name] = used.get(name, 0) + amount
        return found

    def victims(self, key: Key, spec: PodSpec, labels: dict[str, str]) -> tuple[str, list[Key]]:
        """The Node that the Pod would fit on without some Pods of lower priority, and those Pods; empty if there is
        none. Of several Nodes, the first `MOST_PLANS`, it is the one whose Pods matter least.
        """
        if spec.preemption_policy == "Never" or not any(each < spec.priority for each in self._priorities):
            return "", []
        requests, reserved = requests_of(spec), self._reserved(key, spec.priority)
        neighbours = self._neighbours(key, spec, labels, wishes_of(key[0], labels, spec))
        plans: list[tuple[int, int, str, list[Key]]] = []
        for name, node in self._nodes.items():
            # Most Nodes are out of the question even if they were empty, and this is quick to see.
            if obstacle(spec, requests, node, {}) or (neighbours is not None and neighbours.obstacle(node)):
                continue
            pods = [each for each in self._on_node.get(name, {}).items() if each[1].priority < spec.priority]
            used = dict(reserved.get(name) or self._usage(name))
            if pods and (found := _expendable(spec, requests, node, pods, used)) is not None:
                ranks = sorted((each.priority for _, each in found), reverse=True)
                plans.append((ranks[0] if ranks else -1, len(found), name, [each for each, _ in found]))
                if len(plans) == MOST_PLANS:
                    break
        _, _, node_name, victims = min(plans, default=(0, 0, "", []))
        return node_name, victims

    def _neighbours(self, key: Key, spec: PodSpec, labels: dict[str, str], wishes: Wishes) -> Neighbours | None:
        """None for most Pods: neither they nor others care."""
        if wishes is NO_WISHES and not self._averse:
            return None
        nodes, averse = self._nodes, self._averse
        return Neighbours(key[0], labels, spec, wishes=wishes, nodes=nodes, count=self._count, averse=averse)

    def _count(self, group: Group) -> Counter[str]:
        members = (Member(key[0], placed.labels, placed.node) for key, placed in self._placed.items())
        return self._tallies.of(group, members)

    def explain(self, key: Key, spec: PodSpec, labels: dict[str, str], why: str = "") -> str:
        """Why the Pod fits on no Node; `why` if that is known."""
        requests = requests_of(spec)
        nodes = self._nodes.values()
        if why and nodes:
            total = len(nodes)
            return f"0/{total} nodes are available: {why}. {no_victims(total, f'{total} {HELPLESS}')}"
        neighbours = self._neighbours(key, spec, labels, wishes_of(key[0], labels, spec))
        reserved = self._reserved(key, spec.priority)
        found = Counter(
            obstacle(spec, requests, each, reserved.get(each.name) or self._usage(each.name))
            or (neighbours.obstacle(each) if neighbours else "")
            for each in nodes
        )
        return fit_error(len(nodes), found)

    def observe(self, pod: Pod) -> None:
        """A Pod as the watch shows it; finished ones use nothing."""
        node, nominated = pod.spec.node_name, pod.status.nominated_node_name
        if pod.is_finished:
            self.release(pod.key)
        elif not node and nominated:
            self.nominate(pod.key, nominated, pod.spec)
        elif node and not ((placed := self._placed.get(pod.key)) and placed.shows(pod)):
            labels = pod.metadata.labels
            wishes = wishes_of(pod.metadata.namespace, labels, pod.spec)
            self._note(pod.key, node, requests_of(pod.spec), pod.spec, labels, wishes)

    def release(self, key: Key) -> bool:
        """Whether there is more room now."""
        nominated, placed = self._nominated.pop(key, None), self._placed.pop(key, None)
        if placed is None:
            return nominated is not None
        used = self._usage(placed.node)
        for name, amount in placed.requests:
            used[name] -= amount
        del self._on_node[placed.node][key]
        if not self._on_node[placed.node]:
            del self._on_node[placed.node]
        for term in placed.apart:
            self._averse[term][placed.node] -= 1
            if not self._averse[term][placed.node]:
                del self._averse[term][placed.node]
            if not self._averse[term]:
                del self._averse[term]
        self._tallies.note(Member(key[0], placed.labels, placed.node), -1)
        self._priorities[placed.priority] -= 1
        if not self._priorities[placed.priority]:
            del self._priorities[placed.priority]
        return True

    def _note(
        self, key: Key, node: str, requests: Amounts, spec: PodSpec, labels: dict[str, str], wishes: Wishes
    ) -> None:
        self.release(key)
        used = self._usage(node)
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + amount
        placed = Placed(node, tuple(requests.items()), labels, spec.priority, wishes.apart)
        self._placed[key] = self._on_node.setdefault(node, {})[key] = placed
        for term in wishes.apart:
            self._averse.setdefault(term, Counter())[node] += 1
        self._tallies.note(Member(key[0], labels, node), 1)
        self._priorities[spec.priority] += 1

    def _usage(self, node: str) -> Amounts:
        found = self._used.get(node)
        if found is None:
            found = self._used[node] = {}
        return found

    def _choose(
        self, spec: PodSpec, requests: Amounts, neighbours: Neighbours | None, reserved: dict[str, Amounts]
    ) -> str:
        order, nodes = self._order, self._nodes
        count, best, least, seen = len(order), "", 0, 0
        for step in range(count):
            name = order[(self._next + step) % count]
            used = self._usage(name)
            if obstacle(spec, requests, nodes[name], reserved.get(name) or used):
                continue
            if neighbours is not None and neighbours.obstacle(nodes[name]):
                continue
            pods = used.get(PODS, 0)
            if not best or pods < least:
                best, least = name, pods
            seen += 1
            if seen >= _COMPARED:
                break
        self._next += 1
        return best


def _expendable(
    spec: PodSpec, requests: Amounts, node: NodeFacts, pods: list[tuple[Key, Placed]], used: Amounts
) -> list[tuple[Key, Placed]] | None:
    """The Pods to remove: all of lower priority, less those that may stay, the most important first."""
    for _, placed in pods:
        for name, amount in placed.requests:
            used[name] -= amount
    if obstacle(spec, requests, node, used):
        return None
    removed = []
    for each in sorted(pods, key=lambda pod: (-pod[1].priority, pod[0])):
        with_it = dict(used)
        for name, amount in each[1].requests:
            with_it[name] += amount
        if obstacle(spec, requests, node, with_it):
            removed.append(each)
        else:
            used = with_it
    return removed
