"""Compiled exemptions of a policy, applied to the findings of a Pod.

An exemption may expire, so a result says until when it is valid.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.workload import owner_of
from homeostat.operators.policy.engine.check import CHECKS, MISSING_LIVENESS, MISSING_READINESS, Finding
from homeostat.operators.policy.engine.glob import compile_names
from homeostat.operators.policy.engine.invalid import PolicyFaultError
from homeostat.operators.policy.engine.selector import Predicate, compile_selector
from homeostat.operators.policy.spec import Exemption, PolicySpec

_JOB_LABELS = ("batch.kubernetes.io/job-name", "job-name")
"""The labels that the Job controller gives to Pods; Kubernetes before 1.27 knows the second one only."""


class CompiledExemption(NamedTuple):
    reason: str
    expires: float
    """In seconds since the epoch; infinity for never."""
    checks: frozenset[str]
    containers: frozenset[str]
    is_named: Callable[[str], bool] | None
    matches: Predicate | None

    def selects(self, pod: Pod) -> bool:
        if self.matches is not None and not self.matches(pod.labels):
            return False
        if self.is_named is None or self.is_named(pod.name):
            return True
        owner = owner_of(pod)
        return owner is not None and self.is_named(owner.name)

    def exempts(self, finding: Finding) -> bool:
        if self.checks and finding.check.type not in self.checks:
            return False
        return not self.containers or finding.container in self.containers


def compile_exemptions(spec: PolicySpec) -> tuple[CompiledExemption, ...]:
    known = {check.type for check in CHECKS} | {rule.name for rule in spec.rules}
    declared = [_compile(each, f"spec.exemptions[{at}]", known) for at, each in enumerate(spec.exemptions)]
    return (*declared, _PROBES_OF_JOBS) if spec.probes_for_jobs is False else tuple(declared)


def _compile(exemption: Exemption, path: str, known: set[str]) -> CompiledExemption:
    if unknown := sorted(set(exemption.checks) - known):
        raise PolicyFaultError("InvalidExemption", f"{path}.checks", f'unknown check "{unknown[0]}"')
    try:
        expires = inf if exemption.expires is None else parse_time(exemption.expires).timestamp()
    except TimestampError as error:
        raise PolicyFaultError("InvalidExemption", f"{path}.expires", str(error)) from error
    return CompiledExemption(
        exemption.reason,
        expires,
        frozenset(exemption.checks),
        frozenset(exemption.containers),
        compile_names(exemption.names) if exemption.names else None,
        compile_selector(exemption.selector, f"{path}.selector"),
    )


_PROBES_OF_JOBS = CompiledExemption(
    "the Pods of Jobs need no probes",
    inf,
    frozenset({MISSING_LIVENESS.type, MISSING_READINESS.type}),
    frozenset(),
    None,
    lambda labels: any(label in labels for label in _JOB_LABELS),
)


class Remaining(NamedTuple):
    """The findings that are not exempted, the number of exempted ones, and until when this is valid."""

    findings: tuple[Finding, ...]
    exempted: int
    until: float


def apply_exemptions(
    exemptions: tuple[CompiledExemption, ...], pod: Pod, findings: tuple[Finding, ...], now: float
) -> Remaining:
    active = [each for each in exemptions if each.expires > now and each.selects(pod)]
    if not active:
        return Remaining(findings, 0, inf)
    left: list[Finding] = []
    until = inf
    for finding in findings:
        # Exempted until the last of its exemptions expires.
        ends = [each.expires for each in active if each.exempts(finding)]
        if ends:
            until = min(until, max(ends))
        else:
            left.append(finding)
    return Remaining(tuple(left), len(findings) - len(left), until)
