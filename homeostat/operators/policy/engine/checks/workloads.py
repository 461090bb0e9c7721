"""Checks of workloads, which a single Pod cannot show."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.views.workload import DisruptionBudget, Workload
from homeostat.operators.policy.engine.check import FEW_REPLICAS, MISSING_BUDGET, Finding
from homeostat.operators.policy.engine.checks.base import WorkloadTest
from homeostat.operators.policy.spec import PolicySpec


def few_replicas(spec: PolicySpec) -> WorkloadTest | None:
    """Workloads with too few replicas. A workload that is scaled to 0 has no finding."""
    least = spec.min_replicas
    if least is None:
        return None
    check = FEW_REPLICAS.for_policy(spec)

    def test(workload: Workload, budgets: Sequence[DisruptionBudget]) -> list[Finding]:  # noqa: ARG001
        count = workload.replicas
        if count is None or count == 0 or count >= least:
            return []
        return [Finding(check, "", f"{count} {'replica' if count == 1 else 'replicas'} (minimum: {least})")]

    return test


def missing_budget(spec: PolicySpec) -> WorkloadTest | None:
    """Workloads with replicas, which the drain of a node can take down."""
    if not spec.require_disruption_budget:
        return None
    found = [Finding(MISSING_BUDGET.for_policy(spec))]

    def test(workload: Workload, budgets: Sequence[DisruptionBudget]) -> list[Finding]:
        if not workload.replicas or any(each.covers(workload) for each in budgets):
            return []
        return found

    return test
