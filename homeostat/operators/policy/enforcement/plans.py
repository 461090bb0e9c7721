"""The plans of a namespace, updated Pod by Pod: a changed Pod affects only the plan of its own workload.

Promises, each with a property test: the order of updates does not matter; a Pod that no longer lacks anything leaves
no trace; there is one plan a workload, sorted by key, with everything that any of its Pods lacks.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from homeostat.operators.policy.enforcement.patch import Injection, Part
from homeostat.operators.policy.enforcement.plan import Plan


class Plans:
    """Plans by Pod name. Replicas have equal plans, which are stored once."""

    __slots__ = ("_by_pod", "_keys", "_merged", "_wanted", "_whole")

    def __init__(self) -> None:
        self._by_pod: dict[str, tuple[str, Plan]] = {}
        self._wanted: dict[str, dict[Plan, int]] = {}
        """By workload: the plans of its Pods, and how many Pods have each."""
        self._merged: dict[str, Plan] = {}
        self._keys: list[str] = []
        self._whole: tuple[Plan, ...] | None = ()

    def put(self, pod: str, plan: Plan | None) -> None:
        """Replaces the plan of the Pod; None if it lacks nothing."""
        current = self._by_pod.get(pod)
        if current is None if plan is None else current is not None and current[1] == plan:
            return
        if current is not None:
            self._subtract(pod, *current)
        if plan is not None:
            self._add(pod, plan)
        self._whole = None

    def all(self) -> tuple[Plan, ...]:
        if self._whole is None:
            self._whole = tuple(self._plan(key) for key in self._keys)
        return self._whole

    def _plan(self, key: str) -> Plan:
        found = self._merged.get(key)
        if found is None:
            found = self._merged[key] = _merge(self._wanted[key])
        return found

    def _add(self, pod: str, plan: Plan) -> None:
        key = str(plan.owner)
        wanted = self._wanted.get(key)
        if wanted is None:
            wanted = self._wanted[key] = {}
            insort(self._keys, key)
        if plan not in wanted:
            self._merged.pop(key, None)
        wanted[plan] = wanted.get(plan, 0) + 1
        self._by_pod[pod] = (key, plan)

    def _subtract(self, pod: str, key: str, plan: Plan) -> None:
        del self._by_pod[pod]
        wanted = self._wanted[key]
        wanted[plan] -= 1
        if wanted[plan]:
            return
        del wanted[plan]
        self._merged.pop(key, None)
        if not wanted:
            del self._wanted[key]
            del self._keys[bisect_left(self._keys, key)]


def _merge(plans: Iterable[Plan]) -> Plan:
    """Merges the plans of one workload."""
    parts: dict[str, frozenset[Part]] = {}
    for plan in plans:
        owner = plan.owner
        for each in plan.injections:
            parts[each.container] = parts.get(each.container, frozenset()) | each.parts
    return Plan(owner, tuple(Injection(name, parts[name]) for name in sorted(parts)))
