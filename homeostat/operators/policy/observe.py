"""Observes the world of a policy from the caches: the totals over the Pods that it selects, and their workloads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice

import msgspec

from homeostat.objects.declared import Metadata
from homeostat.operators.policy.api import ClusterDevOpsPolicy, DevOpsPolicy, Policy, PolicyAuditResult
from homeostat.operators.policy.audit_result import Record, due_at, most_violations, results_of, violation_of
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.live.evaluation import PolicyEvaluation
from homeostat.operators.policy.live.results import Key, NamespaceResults, PolicyResults, ResultsByPolicy
from homeostat.operators.policy.live.workloads import WorkloadCache
from homeostat.operators.policy.metrics import Series
from homeostat.operators.policy.world import World
from homeostat.runtime.cache.cache import Cache

_YIELD_EVERY = 50
_MOST_RECORDS = 20
"""In one reconciliation: a ClusterDevOpsPolicy reports its score before all namespaces have an audit result."""


class Namespace(msgspec.Struct, frozen=True):
    metadata: Metadata


Policies = Cache[DevOpsPolicy] | Cache[ClusterDevOpsPolicy]


class Observer:
    """For one kind of policy. The results of a policy are removed with it, even if it is deleted meanwhile."""

    def __init__(
        self,
        policies: Policies,
        results: ResultsByPolicy,
        evaluation: PolicyEvaluation,
        *,
        series: Series,
        workload_cache: WorkloadCache,
        audits: Cache[PolicyAuditResult],
        namespaces: Cache[Namespace] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policies, self._results, self._evaluation = policies, results, evaluation
        self._series, self._workload_cache = series, workload_cache
        self._audits, self._namespaces, self._now = audits, namespaces, now

    async def observe(self, policy: Policy) -> World:
        key = (policy.metadata.namespace, policy.metadata.name)
        try:
            world = await self._observe(key, policy)
        finally:
            is_gone = self._policies.get(*key) is None
            if is_gone:
                self._results.close(key)
                self._series.forget(key)
        return World(world.now, world.evaluator) if is_gone else world

    async def _observe(self, key: Key, policy: Policy) -> World:
        now = self._now()
        policy_results = await self._results.open(key, policy.spec)
        evaluator = policy_results.evaluator
        if policy.is_terminating or not isinstance(evaluator, Evaluator):
            return World(now, evaluator, has_series=key in self._series)
        if policy_results.uses_workloads:
            await self._workload_cache.ready(has_budgets=bool(policy.spec.require_disruption_budget))
        namespaces = self._selected_namespaces(policy, evaluator)
        policy_results.keep(namespaces)
        for number, namespace in enumerate(namespaces):
            await self._evaluation.refresh(policy_results.of_namespace(namespace), namespace, evaluator, now)
            if number % _YIELD_EVERY == _YIELD_EVERY - 1:
                await asyncio.sleep(0)
        return self._world(key, policy, policy_results, evaluator, now)

    def _selected_namespaces(self, policy: Policy, evaluator: Evaluator) -> list[str]:
        if not isinstance(policy, ClusterDevOpsPolicy):
            return [policy.metadata.namespace]
        # The labels of a namespace that is not in the cache are unknown, so it is not selected.
        known = [] if self._namespaces is None else list(self._namespaces)
        return [
            each.metadata.name
            for each in known
            if evaluator.selects_namespace(each.metadata.name, each.metadata.labels)
        ]

    def _world(
        self, key: Key, policy: Policy, policy_results: PolicyResults, evaluator: Evaluator, now: datetime
    ) -> World:
        totals, plans, is_enforced = policy_results.totals(), policy_results.plans(), policy.spec.is_enforced
        is_cluster_policy = isinstance(policy, ClusterDevOpsPolicy)
        self._series.show(key, totals, is_enforced=is_enforced)
        return World(
            now,
            evaluator,
            totals,
            policy_results.next_due(),
            plans=plans,
            workloads=self._workload_cache.relevant(plans, policy_results.namespaces) if is_enforced else {},
            failures=policy_results.current_failures(plans),
            records=tuple(islice(self._records(policy, policy_results, now), _MOST_RECORDS)),
            namespaces=policy_results.by_namespace() if is_cluster_policy else {},
            has_series=True,
        )

    def _records(self, policy: Policy, policy_results: PolicyResults, now: datetime) -> Iterator[Record]:
        """The records of namespaces whose audit results must be written or deleted now."""
        for namespace, results in policy_results.namespaces.items():
            if results.record_after <= now.timestamp():
                record = self._record(policy, namespace, results)
                results.record_after = due_at(policy, record, now=now)
                if results.record_after <= now.timestamp():
                    yield record

    def _record(self, policy: Policy, namespace: str, results: NamespaceResults) -> Record:
        found = results.running.findings(most_violations(policy.spec))
        violations = tuple(violation_of(key, finding) for key, finding in found)
        kept = results_of(policy, self._audits.in_namespace(namespace))
        return Record(namespace, results.totals(), violations, kept)
