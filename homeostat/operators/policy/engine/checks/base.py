"""The types of checks: a maker builds a test for one policy, and the test returns findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from homeostat.objects.views.pod import Container, Pod
from homeostat.objects.views.workload import DisruptionBudget, Workload
from homeostat.operators.policy.engine.check import Check, Finding
from homeostat.operators.policy.spec import PolicySpec

Test = Callable[[Pod, float], list[Finding]]
"""Evaluates a Pod at a time, in seconds since the epoch."""
Maker = Callable[[PolicySpec], Test | None]
WorkloadTest = Callable[[Workload, Sequence[DisruptionBudget]], list[Finding]]
"""Evaluates a workload, with the PodDisruptionBudgets of its namespace."""
WorkloadMaker = Callable[[PolicySpec], WorkloadTest | None]


def each_container(check: Check, fault: Callable[[Pod, Container], str]) -> Test:
    """One finding for each container for which `fault` returns a text that is not empty."""

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name, text) for each in pod.containers if (text := fault(pod, each))]

    return test
