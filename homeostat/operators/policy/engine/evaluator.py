"""A compiled policy, which evaluates Pods and workloads. The operator, the webhook and the command line all use it.

    evaluator = compile_policy(spec)
    if not isinstance(evaluator, Fault):
        evaluator.evaluate(pod, now=now)

Promises, each tested: the same Pod at the same time gives the same result; a result says when it may
change by time alone; no Pod makes an evaluation fail; an invalid policy is a `Fault` with the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from homeostat.cel import Budget
from homeostat.objects.json import JsonObject
from homeostat.objects.memory.pool import Pool, size_of
from homeostat.objects.views.pod import Pod, PodSpec
from homeostat.objects.views.workload import DisruptionBudget, Workload, pod_of
from homeostat.operators.policy.enforcement.patch import check_defaults
from homeostat.operators.policy.engine.check import Finding
from homeostat.operators.policy.engine.checks import DECLARED, OBSERVED, tests_of, workload_tests_of
from homeostat.operators.policy.engine.checks.base import Test, WorkloadTest
from homeostat.operators.policy.engine.checks.running import pending_deadline
from homeostat.operators.policy.engine.exemption import (
    CompiledExemption,
    Remaining,
    apply_exemptions,
    compile_exemptions,
)
from homeostat.operators.policy.engine.invalid import Fault, PolicyFaultError
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.engine.rule import MOST_COST, RuleTest, compile_rules
from homeostat.operators.policy.engine.selector import Predicate, compile_selector
from homeostat.operators.policy.spec import ClusterPolicySpec, PolicySpec

_MOST_SPECS = 512
_LARGEST_SPEC = 16 * 1024
"""About the bytes of a spec that is kept: the Pods of a policy may all differ, and each may have megabytes."""


class Result(msgspec.Struct, frozen=True, gc=False):
    """The findings of one Pod or workload.

    `pods` is the number of Pods that it counts for. `recheck_at` is when it must be evaluated again although nothing
    changed, in seconds since the epoch; infinity for never.
    """

    findings: tuple[Finding, ...] = ()
    pods: int = 1
    exempted: int = 0
    recheck_at: float = inf


CLEAN: Final = Result()
NOT_SELECTED: Final = Result(pods=0)
"""For system namespaces, for Pods that the selector does not match, and for workloads without findings."""


class Evaluator:
    """`needs_body` says that the policy has CEL rules, which need the whole object.

    Pods with equal specs are evaluated once for the checks of the spec; the results of the newest specs are cached.
    """

    __slots__ = (
        "_declared",
        "_exemptions",
        "_known",
        "_matches",
        "_namespaces",
        "_observed",
        "_pending_limit",
        "_results",
        "_rules",
        "_workloads",
        "name",
        "spec",
    )

    def __init__(self, spec: PolicySpec, *, name: str = "") -> None:
        """`PolicyFaultError` if the spec is invalid. The name is used in messages."""
        _check_thresholds(spec)
        check_defaults(spec)
        self.spec, self.name = spec, name
        self._declared: tuple[Test, ...] = tests_of(spec, DECLARED)
        self._observed: tuple[Test, ...] = tests_of(spec, OBSERVED)
        self._known: dict[int, tuple[PodSpec, Result]] = {}
        self._results: Pool[Result] = Pool(_MOST_SPECS, most_bytes=_MOST_SPECS * _LARGEST_SPEC)
        """Different specs mostly have equal results, which are stored once."""
        self._workloads: tuple[WorkloadTest, ...] = workload_tests_of(spec)
        self._rules: tuple[RuleTest, ...] = compile_rules(spec)
        self._exemptions: tuple[CompiledExemption, ...] = compile_exemptions(spec)
        self._matches: Predicate | None = compile_selector(spec.selector, "spec.selector")
        namespaces = spec.namespace_selector if isinstance(spec, ClusterPolicySpec) else None
        self._namespaces: Predicate | None = compile_selector(namespaces, "spec.namespaceSelector")
        self._pending_limit = None if spec.pending_ignores_age else spec.forbid_pending_duration

    @property
    def needs_body(self) -> bool:
        return bool(self._rules)

    @property
    def needs_workloads(self) -> bool:
        return bool(self._workloads)

    def evaluate(self, pod: Pod, *, now: float, body: JsonObject | None = None, budget: Budget | None = None) -> Result:
        """`body` is the Pod as JSON, for policies with rules. `budget` is what the rules may cost, if not all.

        If nothing is left of the budget, the result is not that of the whole one.
        """
        if not self.selects(pod):
            return NOT_SELECTED
        declared = self._declaration(pod)
        seen: list[Finding] = []
        for test in self._observed:
            seen += test(pod, now)
        if self._rules:
            seen += self._broken_rules(body, budget)
        recheck_at = self._pending_deadline(pod, now)
        if not seen and recheck_at == inf and not (self._exemptions and declared.findings):
            return declared
        return self._result(pod, (*declared.findings, *seen), now, recheck_at)

    def declared(self, pod: Pod, *, now: float, body: JsonObject | None = None) -> Result:
        """Only the checks of the spec and the CEL rules: for a Pod that does not exist yet."""
        if not self.selects(pod):
            return NOT_SELECTED
        found = (*self._declaration(pod).findings, *self._broken_rules(body))
        return self._result(pod, found, now, inf)

    def evaluate_workload(self, workload: Workload, budgets: tuple[DisruptionBudget, ...], *, now: float) -> Result:
        """The checks of the workload itself, without its Pods."""
        pod = pod_of(workload)
        if not self._workloads or not self.selects(pod):
            return NOT_SELECTED
        found = tuple(finding for test in self._workloads for finding in test(workload, budgets))
        if not found:
            return NOT_SELECTED
        findings, exempted, until = apply_exemptions(self._exemptions, pod, found, now)
        return Result(findings, 0, exempted, until)

    def counted(self, pod: Pod, findings: tuple[Finding, ...], *, now: float) -> Remaining:
        """The findings that count: the policy selects the Pod and does not exempt them."""
        if not self.selects(pod):
            return Remaining((), 0, inf)
        return (
            apply_exemptions(self._exemptions, pod, findings, now) if self._exemptions else Remaining(findings, 0, inf)
        )

    def selects_namespace(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a ClusterDevOpsPolicy selects the namespace."""
        return not is_system(name) and (self._namespaces is None or self._namespaces(labels))

    def selects(self, pod: Pod) -> bool:
        return not is_system(pod.metadata.namespace) and (self._matches is None or self._matches(pod.labels))

    def _declaration(self, pod: Pod) -> Result:
        """Cached by the identity of the spec: equal specs are one value (see `pod`), and the cache keeps it alive."""
        if pod.spec is None:
            return CLEAN
        known = self._known.get(id(pod.spec))
        if known is not None:
            return known[1]
        found = _by_container(pod, [finding for test in self._declared for finding in test(pod, 0.0)])
        result = self._results.share(Result(found)) if found else CLEAN
        if size_of(pod.spec, _LARGEST_SPEC) <= _LARGEST_SPEC:
            if len(self._known) >= _MOST_SPECS:
                self._known.clear()
            self._known[id(pod.spec)] = (pod.spec, result)
        return result

    def _broken_rules(self, body: JsonObject | None, budget: Budget | None = None) -> list[Finding]:
        if not self._rules:
            return []
        if body is None:
            raise ValueError("the policy has CEL rules, which need the whole Pod; pass its body")
        budget = Budget(MOST_COST) if budget is None else budget
        return [finding for rule in self._rules if (finding := rule(body, budget)) is not None]

    def _result(self, pod: Pod, found: tuple[Finding, ...], now: float, recheck_at: float) -> Result:
        exempted = 0
        if found and self._exemptions:
            found, exempted, until = apply_exemptions(self._exemptions, pod, found, now)
            recheck_at = min(recheck_at, until)
        if not found and not exempted and recheck_at == inf:
            return CLEAN
        return Result(found, 1, exempted, recheck_at)

    def _pending_deadline(self, pod: Pod, now: float) -> float:
        if self._pending_limit is None or pod.phase != "Pending":
            return inf
        deadline = pending_deadline(pod, self._pending_limit)
        return inf if deadline is None or deadline <= now else deadline


def _by_container(pod: Pod, findings: list[Finding]) -> tuple[Finding, ...]:
    """Container by container, as the original reports them; findings about the Pod itself follow."""
    places = {each.name: at for at, each in enumerate(pod.containers)}
    return tuple(sorted(findings, key=lambda each: places.get(each.container, len(places))))


def compile_policy(spec: PolicySpec, *, name: str = "") -> Evaluator | Fault:
    try:
        return Evaluator(spec, name=name)
    except PolicyFaultError as error:
        return error.fault


def _check_thresholds(spec: PolicySpec) -> None:
    bounds = spec.thresholds
    if bounds is not None and not bounds.healthy >= bounds.stable >= bounds.degraded:
        text = f"must descend: healthy {bounds.healthy}, stable {bounds.stable}, degraded {bounds.degraded}"
        raise PolicyFaultError("InvalidThresholds", "spec.thresholds", text)
