"""Which Pods of a Node make room for one of higher priority, and on which Node that costs least. Pure.

Pods stay if the new one fits beside them: first those whose removal would violate a PodDisruptionBudget, then the
others, of both the most important first. A budget is a preference only: without another way, its Pods go too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.operators.workloads.api import PodSpec, Workload
from homeostat.operators.workloads.scheduling.fit import Amounts, NodeFacts, obstacle
from homeostat.operators.workloads.scheduling.neighbours import Neighbours, Term
from homeostat.operators.workloads.scheduling.tallies import Member

_LEAST_PRIORITY: Final = -(2**31)
NOT_STARTED: Final = "~"
"""Sorts after every time."""


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A Pod that may be removed."""

    key: tuple[str, str]
    labels: dict[str, str]
    priority: int
    requests: tuple[tuple[str, int], ...]
    apart: tuple[Term, ...] = ()
    started: str = NOT_STARTED


class Allowance(msgspec.Struct, frozen=True):
    """What is left of a PodDisruptionBudget."""

    selector: LabelSelector
    left: int
    disrupted: frozenset[str]
    """Pods whose eviction it was charged for already."""

    def covers(self, pod: Candidate) -> bool:
        """`pod` is one of its namespace."""
        return pod.key[1] not in self.disrupted and self.selector.matches(pod.labels)


Allowances = Mapping[str, Sequence[Allowance]]
"""By namespace: there may be thousands, and each Pod is compared with those of its own only."""


class Plan(msgspec.Struct, frozen=True):
    """The Pods to remove from a Node, the most important first."""

    node: str
    victims: tuple[Candidate, ...]
    violations: int = 0

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """In the order of kube-scheduler: violated budgets, the highest priority, the sum of priorities, the number."""
        priorities = [each.priority for each in self.victims]
        return self.violations, max(priorities), sum(each - _LEAST_PRIORITY for each in priorities), len(priorities)

    @property
    def started(self) -> str:
        """When the first of its most important Pods started."""
        highest = max(each.priority for each in self.victims)
        return min(each.started for each in self.victims if each.priority == highest)


def cheapest(plans: Sequence[Plan]) -> Plan | None:
    """Of equal ones that whose Pods started last, and then the first by name of the Node."""
    if not plans:
        return None
    least = min(each.cost for each in plans)
    equal = sorted((each for each in plans if each.cost == least), key=lambda each: each.node)
    return max(equal, key=lambda each: each.started)


def allowances_of(budgets: Iterable[Workload]) -> Allowances:
    """A budget with an empty selector protects no Pod from preemption, as in kube-scheduler."""
    found: dict[str, list[Allowance]] = {}
    for budget in budgets:
        try:
            selector = selector_of(budget.spec.get("selector") or {})
        except BadRequestError:
            continue
        if selector.requirements:
            status = budget.status
            gone = frozenset(status.get("disruptedPods") or ())
            allowance = Allowance(selector, status.get("disruptionsAllowed", 0), gone)
            found.setdefault(budget.metadata.namespace, []).append(allowance)
    return found


class Trial:
    """A Pod on a Node, as if some of the Pods there were removed. `neighbours` are changed during the trial."""

    def __init__(
        self, spec: PodSpec, requests: Amounts, node: NodeFacts, used: Amounts, neighbours: Neighbours | None
    ) -> None:
        self.node = node
        self._spec, self._requests, self._used, self._neighbours = spec, requests, dict(used), neighbours

    @property
    def fits(self) -> bool:
        if obstacle(self._spec, self._requests, self.node, self._used):
            return False
        return self._neighbours is None or not self._neighbours.obstacle(self.node)

    def remove(self, pod: Candidate) -> None:
        self._note(pod, -1)

    def restore(self, pod: Candidate) -> None:
        self._note(pod, 1)

    def _note(self, pod: Candidate, change: int) -> None:
        for name, amount in pod.requests:
            self._used[name] += change * amount
        if self._neighbours is not None:
            self._neighbours.note(Member(pod.key[0], pod.labels, self.node.name), pod.apart, change)


def plan_for(trial: Trial, pods: Iterable[Candidate], budgets: Allowances) -> Plan | None:
    """None if the Pod does not fit even without `pods`, which are all of lower priority on the Node."""
    candidates = sorted(pods, key=_importance)
    for each in candidates:
        trial.remove(each)
    removed = candidates
    violated = 0
    fits = bool(candidates) and trial.fits
    if fits:
        violating, others = _divided(candidates, budgets)
        victims = [each for each in violating if not _stays(trial, each)]
        violated = len(victims)
        removed = sorted([*victims, *(each for each in others if not _stays(trial, each))], key=_importance)
    for each in removed:
        trial.restore(each)
    return Plan(trial.node.name, tuple(removed), violated) if fits and removed else None


def _stays(trial: Trial, pod: Candidate) -> bool:
    trial.restore(pod)
    if trial.fits:
        return True
    trial.remove(pod)
    return False


def _importance(pod: Candidate) -> tuple[int, str, tuple[str, str]]:
    return -pod.priority, pod.started, pod.key


def _divided(pods: Iterable[Candidate], budgets: Allowances) -> tuple[list[Candidate], list[Candidate]]:
    """The Pods whose eviction would violate a budget, if they are evicted in this order, and the others."""
    left: dict[str, list[int]] = {}
    violating, others = list[Candidate](), list[Candidate]()
    for pod in pods:
        own = budgets.get(pod.key[0], ())
        counts = left.setdefault(pod.key[0], [each.left for each in own])
        covering = [index for index, each in enumerate(own) if pod.labels and each.covers(pod)]
        for index in covering:
            counts[index] -= 1
        (violating if any(counts[index] < 0 for index in covering) else others).append(pod)
    return violating, others
