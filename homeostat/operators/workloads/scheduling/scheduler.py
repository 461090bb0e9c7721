"""Places Pods on Nodes, in memory: which Node has how much left, and which Pods are where.

It starts where the last Pod was placed, and takes the emptiest of the first few Nodes that fit, so that a placement
does not compare all Nodes. If a Pod has preferences, more Nodes are compared. A Pod counts from the moment it is
placed, before the watch has delivered it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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
    is_port,
    no_victims,
    obstacle,
    requests_of,
)
from homeostat.operators.workloads.scheduling.neighbours import (
    UNCONSTRAINED,
    Constraints,
    Neighbours,
    Term,
    constraints_of,
)
from homeostat.operators.workloads.scheduling.preemption import (
    NOT_STARTED,
    Candidate,
    Plan,
    Trial,
    allowances_of,
    cheapest,
    plan_for,
)
from homeostat.operators.workloads.scheduling.preferences import NO_PREFERENCES, preferences_of, scores_of
from homeostat.operators.workloads.scheduling.tallies import Group, Member, Tallies

_COMPARED: Final = 4
_COMPARED_BY_PREFERENCE: Final = 100
MOST_PLANS: Final = 32
"""Nodes that are compared for a preemption. kube-scheduler compares a tenth of them, 100 at least."""


def _unknown(key: Key) -> str:  # noqa: ARG001
    return NOT_STARTED


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
        self._dismissed: set[Key] = set()
        """Pods that waited for a Node until a more important one did, as long as their status shows that Node."""
        self._averse: dict[Term, Counter[str]] = {}
        """What placed Pods want no Pods near them for, and how many of them are on which Node."""
        self._tallies = Tallies()
        self._priorities: Counter[int] = Counter()
        self._next = 0
        self._softly_tainted: set[str] = set()

    def set_node(self, node: Workload) -> bool:
        """Whether Pods may fit now that did not fit before, or the other way round."""
        name, facts = node.metadata.name, facts_of(node)
        if self._nodes.get(name) == facts:
            return False
        if name not in self._nodes:
            self._order.append(name)
        self._nodes[name] = facts
        (self._softly_tainted.add if facts.soft_taints else self._softly_tainted.discard)(name)
        return True

    def remove_node(self, name: str) -> None:
        if self._nodes.pop(name, None) is not None:
            self._order.remove(name)
            self._softly_tainted.discard(name)

    def node(self, name: str) -> NodeFacts | None:
        return self._nodes.get(name)

    def is_crowded(self, key: Key) -> bool:
        """Whether the Pods on its Node request more of something that it requests, too, than the Node has."""
        placed = self._placed.get(key)
        node = self._nodes.get(placed.node) if placed is not None else None
        if placed is None or node is None:
            return False
        used, has = self._usage(placed.node), node.allocatable
        return any(used[name] > has.get(name, 0) for name, amount in placed.requests if amount and not is_port(name))

    @property
    def nodes(self) -> Iterable[NodeFacts]:
        return self._nodes.values()

    def place(self, key: Key, spec: PodSpec, labels: dict[str, str]) -> str:
        """The Node for a Pod, which counts there from now on; empty if it fits on none."""
        requests = requests_of(spec)
        constraints = constraints_of(key[0], labels, spec)
        reserved = self._reserved(key, spec.priority)
        wanted = preferences_of(key[0], labels, spec)
        most = _COMPARED if wanted is NO_PREFERENCES and not self._softly_tainted else _COMPARED_BY_PREFERENCE
        neighbours = self._neighbours(key, spec, labels, constraints)
        fitting = self._fitting(spec, requests, neighbours, reserved, most, self.nomination(key))
        if most > _COMPARED and len(fitting) > 1:
            scores = scores_of(spec, wanted, [self._nodes[each] for each in fitting], self._nodes, self._count)
            best = max(scores)
            fitting = [name for name, score in zip(fitting, scores, strict=True) if score == best]
        found = min(fitting, key=lambda name: self._usage(name).get(PODS, 0), default="")
        if found:
            self._note(key, found, requests, spec, labels, constraints)
        return found

    def nominate(self, key: Key, node: str, spec: PodSpec) -> list[Key]:
        """Reserves room on a Node for a Pod until it is placed or gone. Returns the less important Pods that waited
        for that Node: they no longer do.
        """
        if key in self._placed:
            return []
        waiting = self._nominated.items()
        lower = [other for other, each in waiting if each.node == node and each.priority < spec.priority]
        for other in lower:
            del self._nominated[other]
        self._dismissed.update(lower)
        self._dismissed.discard(key)
        self._nominated[key] = Placed(node, tuple(requests_of(spec).items()), {}, spec.priority)
        return lower

    def nomination(self, key: Key) -> str:
        """The Node that room is reserved on for the Pod; empty if there is none."""
        found = self._nominated.get(key)
        return found.node if found is not None else ""

    def _observe_nomination(self, pod: Pod) -> None:
        """One of an earlier process counts, and one that was taken back does not until the watch has seen that."""
        node = pod.status.nominated_node_name
        if not node:
            self._dismissed.discard(pod.key)
        elif pod.key not in self._dismissed:
            self._nominated[pod.key] = Placed(node, tuple(requests_of(pod.spec).items()), {}, pod.spec.priority)

    def _reserved(self, key: Key, priority: int) -> dict[str, Amounts]:
        """By Node: what is used there, and what more important Pods wait for, or those as important that began to wait
        before: if each saw the others, none would go.
        """
        found: dict[str, Amounts] = {}
        is_later = False
        for other, placed in self._nominated.items():
            is_later = is_later or other == key
            if placed.priority > priority or (placed.priority == priority and not is_later):
                used = found.setdefault(placed.node, dict(self._usage(placed.node)))
                for name, amount in placed.requests:
                    used[name] = used.get(name, 0) + amount
        return found

    def victims(
        self,
        key: Key,
        spec: PodSpec,
        labels: dict[str, str],
        *,
        budgets: Iterable[Workload] = (),
        started: Callable[[Key], str] = _unknown,
    ) -> tuple[str, list[Key]]:
        """The Node that the Pod would fit on without some Pods of lower priority, and those Pods; empty if there is
        none. Of several Nodes it is the one whose Pods matter least: of `MOST_PLANS`, or more if all of those would
        violate `budgets`. `started` is the time at which a Pod started.
        """
        if spec.preemption_policy == "Never" or not any(each < spec.priority for each in self._priorities):
            return "", []
        requests, reserved = requests_of(spec), self._reserved(key, spec.priority)
        neighbours = self._neighbours(key, spec, labels, constraints_of(key[0], labels, spec))
        allowances, plans, harmless = allowances_of(budgets), list[Plan](), False
        for name, node in self._nodes.items():
            # Most Nodes are out of the question even if they were empty, and this is quick to see.
            if obstacle(spec, requests, node, {}):
                continue
            pods = [
                Candidate(each, placed.labels, placed.priority, placed.requests, placed.apart, started(each))
                for each, placed in self._on_node.get(name, {}).items()
                if placed.priority < spec.priority
            ]
            trial = Trial(spec, requests, node, reserved.get(name) or self._usage(name), neighbours)
            plan = plan_for(trial, pods, allowances)
            if plan is not None:
                plans.append(plan)
                harmless = harmless or not plan.violations
                if harmless and len(plans) >= MOST_PLANS:
                    break
        best = cheapest(plans)
        return (best.node, [each.key for each in best.victims]) if best else ("", [])

    def _neighbours(
        self, key: Key, spec: PodSpec, labels: dict[str, str], constraints: Constraints
    ) -> Neighbours | None:
        """None for most Pods: neither they nor others care."""
        if constraints is UNCONSTRAINED and not self._averse:
            return None
        nodes, averse = self._nodes, self._averse
        return Neighbours(key[0], labels, spec, constraints=constraints, nodes=nodes, count=self._count, averse=averse)

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
        neighbours = self._neighbours(key, spec, labels, constraints_of(key[0], labels, spec))
        reserved = self._reserved(key, spec.priority)
        obstacles = (
            obstacle(spec, requests, each, reserved.get(each.name) or self._usage(each.name))
            or (neighbours.obstacle(each) if neighbours else None)
            for each in nodes
        )
        return fit_error(len(nodes), Counter(each for each in obstacles if each is not None))

    def observe(self, pod: Pod) -> None:
        """A Pod as the watch shows it; finished ones use nothing."""
        node = pod.spec.node_name
        if pod.is_finished:
            self.release(pod.key)
        elif not node:
            if pod.key not in self._placed:
                self._observe_nomination(pod)
        elif not ((placed := self._placed.get(pod.key)) and placed.shows(pod)):
            labels = pod.metadata.labels
            constraints = constraints_of(pod.metadata.namespace, labels, pod.spec)
            self._note(pod.key, node, requests_of(pod.spec), pod.spec, labels, constraints)

    def release(self, key: Key) -> bool:
        """Whether there is more room now."""
        nominated, placed = self._nominated.pop(key, None), self._placed.pop(key, None)
        self._dismissed.discard(key)
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
        self, key: Key, node: str, requests: Amounts, spec: PodSpec, labels: dict[str, str], constraints: Constraints
    ) -> None:
        self.release(key)
        used = self._usage(node)
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + amount
        placed = Placed(node, tuple(requests.items()), labels, spec.priority, constraints.apart)
        self._placed[key] = self._on_node.setdefault(node, {})[key] = placed
        for term in constraints.apart:
            self._averse.setdefault(term, Counter())[node] += 1
        self._tallies.note(Member(key[0], labels, node), 1)
        self._priorities[spec.priority] += 1

    def _usage(self, node: str) -> Amounts:
        found = self._used.get(node)
        if found is None:
            found = self._used[node] = {}
        return found

    def _fitting(
        self,
        spec: PodSpec,
        requests: Amounts,
        neighbours: Neighbours | None,
        reserved: dict[str, Amounts],
        most: int,
        first: str = "",
    ) -> list[str]:
        """The first Nodes that the Pod fits on; `first` alone if it is one of them, because it waited for that."""
        nodes, found = self._nodes, list[str]()
        for name in self._in_turn(first):
            if obstacle(spec, requests, nodes[name], reserved.get(name) or self._usage(name)):
                continue
            if neighbours is None or not neighbours.obstacle(nodes[name]):
                found.append(name)
                if name == first or len(found) >= most:
                    break
        self._next += 1
        return found

    def _in_turn(self, first: str) -> Iterator[str]:
        if first in self._nodes:
            yield first
        order, count = self._order, len(self._order)
        for step in range(count):
            name = order[(self._next + step) % count]
            if name != first:
                yield name
