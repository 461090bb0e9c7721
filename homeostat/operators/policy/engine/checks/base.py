"""The form of a check: a test that tells what it finds, made for one policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from homeostat.objects.views.pod import Container, Pod
from homeostat.objects.views.workload import DisruptionBudget, Workload
from homeostat.operators.policy.engine.check import Check, Finding
from homeostat.operators.policy.spec import PolicySpec

Test = Callable[[Pod, float], list[Finding]]
"""Asked of a Pod at a time, in seconds since the epoch."""
Maker = Callable[[PolicySpec], Test | None]
WorkloadTest = Callable[[Workload, Sequence[DisruptionBudget]], list[Finding]]
"""Asked of a workload and the budgets of its namespace."""
WorkloadMaker = Callable[[PolicySpec], WorkloadTest | None]


def each_container(check: Check, fault: Callable[[Pod, Container], str]) -> Test:
    """A finding for each container of which `fault` tells one; an empty text is none."""

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name, told) for each in pod.containers if (told := fault(pod, each))]

    return test
