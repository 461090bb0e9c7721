"""The results of each policy in memory: its compiled form, the results of its Pods, and what to evaluate again.

A changed Pod is marked for each policy that has evaluated its namespace; the next reconciliation of the policy
evaluates only the marked Pods. A policy whose spec changed starts with empty results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from homeostat.operators.policy.compiling import compile_off_loop
from homeostat.operators.policy.enforcement.plan import Plan
from homeostat.operators.policy.enforcement.plans import Plans
from homeostat.operators.policy.engine.evaluator import Evaluator, Result
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.totals import RunningTotals, Totals, sum_totals
from homeostat.operators.policy.spec import PolicySpec

Key = tuple[str, str]
"""Namespace and name of a policy; a ClusterDevOpsPolicy has no namespace."""


class NamespaceResults:
    """The results of one policy for one namespace. `is_complete` once every Pod was evaluated."""

    __slots__ = (
        "_totals",
        "are_workloads_complete",
        "dirty",
        "is_complete",
        "plans",
        "record_after",
        "running",
        "workloads",
    )

    def __init__(self) -> None:
        self.running = RunningTotals()
        self.is_complete = False
        self.dirty: set[str] = set()
        """Names of Pods to evaluate again."""
        self.are_workloads_complete = False
        self.workloads: set[str] = set()
        """Keys of workloads to evaluate again."""
        self.plans = Plans()
        self.record_after = 0.0
        """When to compare with the newest audit result; infinity while that one is up to date."""
        self._totals: Totals | None = None

    def put(self, key: str, result: Result) -> None:
        if self.running.put(key, result):
            self._changed()

    def remove(self, key: str) -> None:
        self.plans.put(key, None)
        if self.running.remove(key):
            self._changed()

    def _changed(self) -> None:
        self._totals = None
        if self.record_after == inf:
            self.record_after = 0.0

    def totals(self) -> Totals:
        """Cached: few namespaces change between two reconciliations."""
        if self._totals is None:
            self._totals = self.running.totals()
        return self._totals


class PolicyResults:
    """The results of one policy with its current spec."""

    __slots__ = ("evaluator", "failures", "namespaces", "spec")

    def __init__(self, spec: PolicySpec, evaluator: Evaluator | Fault) -> None:
        self.spec, self.evaluator = spec, evaluator
        self.namespaces: dict[str, NamespaceResults] = {}
        self.failures: dict[str, float] = {}
        """By workload: when to retry a patch that the server rejected."""

    @property
    def needs_body(self) -> bool:
        return isinstance(self.evaluator, Evaluator) and self.evaluator.needs_body

    @property
    def needs_workloads(self) -> bool:
        return isinstance(self.evaluator, Evaluator) and self.evaluator.needs_workloads

    @property
    def uses_workloads(self) -> bool:
        return self.spec.is_enforced or self.needs_workloads

    def of_namespace(self, namespace: str) -> NamespaceResults:
        results = self.namespaces.get(namespace)
        if results is None:
            results = self.namespaces[namespace] = NamespaceResults()
        return results

    def keep(self, namespaces: Iterable[str]) -> None:
        """Removes the results of all other namespaces."""
        kept = frozenset(namespaces)
        for namespace in [each for each in self.namespaces if each not in kept]:
            del self.namespaces[namespace]

    def totals(self) -> Totals:
        if len(self.namespaces) == 1:
            return next(iter(self.namespaces.values())).totals()
        return sum_totals(each.totals() for each in self.namespaces.values())

    def by_namespace(self) -> Mapping[str, Totals]:
        found = ((namespace, results.totals()) for namespace, results in self.namespaces.items())
        return {namespace: totals for namespace, totals in found if totals.pods}

    def next_due(self) -> float | None:
        return min(
            (due for results in self.namespaces.values() if (due := results.running.next_due()) is not None),
            default=None,
        )

    def plans(self) -> tuple[Plan, ...]:
        return tuple(plan for results in self.namespaces.values() for plan in results.plans.all())

    def current_failures(self, plans: tuple[Plan, ...]) -> dict[str, float]:
        """The failures of workloads whose Pods still lack something."""
        if not self.failures:
            return {}
        wanted = {str(plan.owner) for plan in plans}
        self.failures = {owner: until for owner, until in self.failures.items() if owner in wanted}
        return dict(self.failures)


class ResultsByPolicy:
    """The results of all policies of one kind."""

    def __init__(self) -> None:
        self._policies: dict[str, dict[str, PolicyResults]] = {}

    def __bool__(self) -> bool:
        return bool(self._policies)

    def __contains__(self, key: Key) -> bool:
        return self.find(key) is not None

    def find(self, key: Key) -> PolicyResults | None:
        return self._policies.get(key[0], {}).get(key[1])

    async def open(self, key: Key, spec: PolicySpec) -> PolicyResults:
        policy_results = self.find(key)
        if policy_results is None or policy_results.spec != spec:
            policy_results = PolicyResults(spec, await compile_off_loop(spec))
            self._policies.setdefault(key[0], {})[key[1]] = policy_results
        return policy_results

    def close(self, key: Key) -> None:
        known = self._policies.get(key[0], {})
        known.pop(key[1], None)
        if not known:
            self._policies.pop(key[0], None)

    def clear(self) -> None:
        self._policies.clear()

    def mark_pod(self, namespace: str, name: str, *, is_equal: bool) -> list[Key]:
        """Marks the Pod and returns the policies to reconcile. `is_equal`: only fields changed that no check reads."""
        keys = []
        for key, policy_results, results in self._evaluating(namespace):
            if not is_equal or policy_results.needs_body:
                results.dirty.add(name)
                keys.append(key)
        return keys

    def mark_workloads(self, namespace: str, key: str = "") -> list[Key]:
        """Marks the workload, or without a key all workloads of the namespace; returns the policies to reconcile."""
        keys = []
        for policy, policy_results, results in self._evaluating(namespace):
            if policy_results.uses_workloads:
                keys.append(policy)
                if key and policy_results.needs_workloads:
                    results.workloads.add(key)
                elif not key:
                    results.are_workloads_complete = False
        return keys

    def mark_owners(self, namespace: str, pods: Iterable[str]) -> list[Key]:
        """Marks Pods whose owner changed; returns the policies to reconcile: those that enforce."""
        keys = []
        for policy, policy_results, results in self._evaluating(namespace):
            if policy_results.spec.is_enforced:
                results.dirty.update(pods)
                keys.append(policy)
        return keys

    def _evaluating(self, namespace: str) -> list[tuple[Key, PolicyResults, NamespaceResults]]:
        """The policies that have evaluated the namespace; the others will read its current state."""
        return [
            ((policy_namespace, name), policy_results, results)
            for policy_namespace in (namespace, "")
            if policy_namespace in self._policies
            for name, policy_results in self._policies[policy_namespace].items()
            if (results := policy_results.namespaces.get(namespace)) is not None
        ]
