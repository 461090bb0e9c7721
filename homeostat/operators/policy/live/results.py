"""The books of the policies: for each its compiled form, the results of its Pods, and what is to be asked again.

A changed Pod is noted for each policy that has asked its namespace, and asked when that policy is next looked at;
nobody else is. A policy whose spec changed begins a new ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from homeostat.operators.policy.enforcement.plan import Plan
from homeostat.operators.policy.enforcement.plans import Plans
from homeostat.operators.policy.engine.evaluator import Evaluator, Result, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.totals import Tally, Totals, sum_totals
from homeostat.operators.policy.spec import PolicySpec

Key = tuple[str, str]
"""Namespace and name of a policy; one of the cluster has no namespace."""


class Page:
    """One namespace in one policy's ledger. `is_whole` once every Pod of it was asked."""

    __slots__ = ("_totals", "are_workloads_whole", "dirty", "is_whole", "plans", "record_after", "tally", "workloads")

    def __init__(self) -> None:
        self.tally = Tally()
        self.is_whole = False
        self.dirty: set[str] = set()
        """Names of Pods."""
        self.are_workloads_whole = False
        self.workloads: set[str] = set()
        """Keys of workloads that changed."""
        self.plans = Plans()
        self.record_after = 0.0
        """When to see whether a result is to be recorded: infinity while what was recorded holds."""
        self._totals: Totals | None = None

    def put(self, key: str, result: Result) -> None:
        if self.tally.put(key, result):
            self._changed()

    def remove(self, key: str) -> None:
        self.plans.put(key, None)
        if self.tally.remove(key):
            self._changed()

    def _changed(self) -> None:
        self._totals = None
        if self.record_after == inf:
            self.record_after = 0.0

    def totals(self) -> Totals:
        """Of a cluster's namespaces few change between two looks."""
        if self._totals is None:
            self._totals = self.tally.totals()
        return self._totals


class PolicyResults:
    """Of one policy as it is declared now."""

    __slots__ = ("evaluator", "failures", "pages", "spec")

    def __init__(self, spec: PolicySpec) -> None:
        self.spec = spec
        self.evaluator: Evaluator | Fault = compile_policy(spec)
        self.pages: dict[str, Page] = {}
        self.failures: dict[str, float] = {}
        """By workload: when a patch that the server refused may be tried again."""

    @property
    def needs_body(self) -> bool:
        return isinstance(self.evaluator, Evaluator) and self.evaluator.needs_body

    @property
    def needs_workloads(self) -> bool:
        return isinstance(self.evaluator, Evaluator) and self.evaluator.needs_workloads

    @property
    def asks_workloads(self) -> bool:
        return self.spec.is_enforced or self.needs_workloads

    def page(self, namespace: str) -> Page:
        page = self.pages.get(namespace)
        if page is None:
            page = self.pages[namespace] = Page()
        return page

    def keep(self, namespaces: Iterable[str]) -> None:
        """Forgets every other namespace."""
        kept = frozenset(namespaces)
        for namespace in [each for each in self.pages if each not in kept]:
            del self.pages[namespace]

    def totals(self) -> Totals:
        if len(self.pages) == 1:
            return next(iter(self.pages.values())).totals()
        return sum_totals(each.totals() for each in self.pages.values())

    def by_namespace(self) -> Mapping[str, Totals]:
        found = ((namespace, page.totals()) for namespace, page in self.pages.items())
        return {namespace: totals for namespace, totals in found if totals.pods}

    def next_due(self) -> float | None:
        return min((due for page in self.pages.values() if (due := page.tally.next_due()) is not None), default=None)

    def plans(self) -> tuple[Plan, ...]:
        return tuple(plan for page in self.pages.values() for plan in page.plans.all())

    def refused(self, plans: tuple[Plan, ...]) -> dict[str, float]:
        """The failures that still count: of workloads whose Pods still lack something."""
        if not self.failures:
            return {}
        wanted = {str(plan.owner) for plan in plans}
        self.failures = {owner: until for owner, until in self.failures.items() if owner in wanted}
        return dict(self.failures)


class ResultsByPolicy:
    """All ledgers of one kind of policy, by namespace and by name."""

    def __init__(self) -> None:
        self._ledgers: dict[str, dict[str, PolicyResults]] = {}

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __contains__(self, key: Key) -> bool:
        return self.find(key) is not None

    def find(self, key: Key) -> PolicyResults | None:
        return self._ledgers.get(key[0], {}).get(key[1])

    def open(self, key: Key, spec: PolicySpec) -> PolicyResults:
        held = self._ledgers.setdefault(key[0], {})
        policy_results = held.get(key[1])
        if policy_results is None or policy_results.spec != spec:
            policy_results = held[key[1]] = PolicyResults(spec)
        return policy_results

    def close(self, key: Key) -> None:
        held = self._ledgers.get(key[0], {})
        held.pop(key[1], None)
        if not held:
            self._ledgers.pop(key[0], None)

    def clear(self) -> None:
        self._ledgers.clear()

    def note_pod(self, namespace: str, name: str, *, is_alike: bool) -> list[Key]:
        """The policies that must ask this Pod again. `is_alike` where only its body changed, which few ask for."""
        keys = []
        for key, policy_results, page in self._asking(namespace):
            if not is_alike or policy_results.needs_body:
                page.dirty.add(name)
                keys.append(key)
        return keys

    def note_workloads(self, namespace: str, key: str = "") -> list[Key]:
        """The policies to whom the workload matters, or without its key all workloads of the namespace."""
        keys = []
        for policy, policy_results, page in self._asking(namespace):
            if policy_results.asks_workloads:
                keys.append(policy)
                if key and policy_results.needs_workloads:
                    page.workloads.add(key)
                elif not key:
                    page.are_workloads_whole = False
        return keys

    def note_owners(self, namespace: str, pods: Iterable[str]) -> list[Key]:
        """The policies that enforce: what these Pods lack is another workload's affair by now."""
        keys = []
        for policy, policy_results, page in self._asking(namespace):
            if policy_results.spec.is_enforced:
                page.dirty.update(pods)
                keys.append(policy)
        return keys

    def _asking(self, namespace: str) -> list[tuple[Key, PolicyResults, Page]]:
        """Who has not asked the namespace yet will see it as it is then."""
        return [
            ((own, name), policy_results, page)
            for own in (namespace, "")
            if own in self._ledgers
            for name, policy_results in self._ledgers[own].items()
            if (page := policy_results.pages.get(namespace)) is not None
        ]
