"""Checks of the probes that containers declare."""

from __future__ import annotations

from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.engine.check import MISSING_LIVENESS, MISSING_READINESS, Finding
from homeostat.operators.policy.engine.checks.base import Test
from homeostat.operators.policy.spec import PolicySpec


def missing_liveness(spec: PolicySpec) -> Test | None:
    if not spec.require_liveness_probe:
        return None
    check = MISSING_LIVENESS.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name) for each in pod.containers if each.liveness_probe is None]

    return test


def missing_readiness(spec: PolicySpec) -> Test | None:
    if not spec.require_readiness_probe:
        return None
    check = MISSING_READINESS.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name) for each in pod.containers if each.readiness_probe is None]

    return test
