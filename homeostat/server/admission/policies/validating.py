"""Evaluates ValidatingAdmissionPolicies on writes.

A policy does nothing without a binding. A binding with the action Deny denies the write; one with Warn adds a warning
for the client; one with Audit annotates the request in the audit log, as do the `auditAnnotations` of a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from homeostat.cel import Budget
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn
from homeostat.objects.errors import Cause, NotFoundError
from homeostat.objects.json import encode
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.denial import DeniedError
from homeostat.server.admission.expressions import (
    QUICK_COST,
    Bindings,
    Expression,
    ExpressionError,
    bindings_of,
    evaluated,
)
from homeostat.server.admission.match import Narrowed
from homeostat.server.admission.policies.params import ParamError, Params
from homeostat.server.admission.policies.policy import AuditAnnotation, Binding, Expressions, Policy, Validation
from homeostat.server.kinds.registry import Kind

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
COMPILER = "admission policies"
"""Its work is done one after the other, so that writes that wait for the same policy compile it once."""
_LONGEST_MESSAGE_BYTES = 5 * 1024
_LONGEST_ANNOTATION_BYTES = 10 * 1024
FAILURE = "validation.policy.admission.k8s.io/validation_failure"
"""The annotation of a request in the audit log whose write fails a validation of a binding with the action Audit."""
Noted = dict[str, dict[str, None]]
"""The values of audit annotations by key, each once."""


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy that matches a kind of write, with its bindings that match too."""

    policy: Policy
    narrowed: Narrowed
    bindings: tuple[tuple[Binding, Narrowed], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a policy rejects the write."""

    message: str
    reason: str = "Invalid"
    index: int = 0
    """Of the validation that failed."""
    is_fatal: bool = False
    """It denies the write whatever the actions of the binding are."""


class Outcome(NamedTuple):
    """What a policy says of a write; `annotations` are keys and values for the audit log."""

    findings: list[Finding]
    annotations: list[tuple[str, str]]


class Run:
    """Evaluates one policy on one write with one parameter object. `failed` has the errors of variables."""

    __slots__ = ("bindings", "budget", "expressions", "failed", "fails", "name", "quick")

    def __init__(self, policy: Policy, bindings: Bindings, quick: Budget | None) -> None:
        self.expressions: Expressions = policy.expressions
        self.fails = policy.fails
        self.name = policy.name
        self.bindings: Bindings = {**bindings, "variables": {}}
        self.quick = quick
        self.budget = Budget() if quick is None else quick
        self.failed: dict[str, str] = {}

    def outcome(self) -> Outcome:
        expressions = self.expressions
        try:
            if not self.is_matched():
                return Outcome([], [])
        except ExpressionError as error:
            return Outcome([Finding(str(error))], [])
        found, annotations = [], []
        for index, validation in enumerate(expressions.validations):
            finding = self._finding(validation, index)
            if finding is not None:
                found.append(finding)
        for each in expressions.annotations:
            try:
                if value := self._annotation(each):
                    annotations.append((each.key, value))
            except ExpressionError as error:
                if self.fails:
                    found.append(Finding(str(error), is_fatal=True))
        return Outcome(found, annotations)

    def _annotation(self, annotation: AuditAnnotation) -> str:
        """Empty if there is nothing to annotate."""
        value = self.value(annotation.value)
        if value is None:
            return ""
        if not isinstance(value, str):
            text = annotation.value.text.strip()
            raise ExpressionError(f"valueExpression '{text}' is neither a string nor null; return one of them")
        return value.strip().encode(errors="replace")[:_LONGEST_ANNOTATION_BYTES].decode(errors="ignore")

    def is_matched(self) -> bool:
        """Whether all match conditions hold; `ExpressionError` if one failed and the policy fails with it."""
        conditions = self.expressions.conditions
        return not conditions or conditions.hold(self.bindings, self.quick)

    def _finding(self, validation: Validation, index: int) -> Finding | None:
        try:
            if self.value(validation.condition) is True:
                return None
        except ExpressionError as error:
            return Finding(str(error), index=index) if self.fails else None
        return Finding(self._message(validation), validation.reason, index)

    def value(self, expression: Expression) -> object:
        for name in expression.variables:
            self._bind(name)
        try:
            return expression.evaluate(self.bindings, self.budget)
        except ExpressionError as error:
            failure = next((self.failed[name] for name in expression.variables if name in self.failed), None)
            if failure is None:
                raise
            raise ExpressionError(failure) from error

    def _bind(self, name: str) -> None:
        """Define a variable; it is evaluated when it is first used."""
        values = self.bindings["variables"]
        if name in values or name in self.failed:
            return
        try:
            values[name] = self.value(self.expressions.variables[name])
        except ExpressionError as error:
            self.failed[name] = f'composited variable "{name}" fails to evaluate: {error}'

    def _message(self, validation: Validation) -> str:
        if validation.message_expression is not None:
            try:
                text = self.value(validation.message_expression)
            except ExpressionError:
                text = ""
            text = text.strip() if isinstance(text, str) else ""
            if text and "\n" not in text and len(text.encode(errors="replace")) <= _LONGEST_MESSAGE_BYTES:
                return text
        return validation.message or f"failed expression: {validation.condition.text.strip()}"


def _outcome(policy: Policy, bindings: Bindings, quick: Budget | None) -> Outcome:
    return Run(policy, bindings, quick).outcome()


class Policies:
    """Evaluates policies on attempts."""

    def __init__(self) -> None:
        self._params = Params()

    async def validate(self, attempt: Attempt, policies: Sequence[BoundPolicy]) -> None:
        """Raise the first denial after all policies, so that a denied call has the warnings and annotations of all."""
        quick, turn, denials = Budget(QUICK_COST), Turn(), list[DeniedError]()
        for bound in policies:
            kind = bound.narrowed.kind_for(attempt)
            await turn.pause()
            if kind is not None:
                await attempt.convert(kind)
                noted: Noted = {}
                for binding, narrowed in bound.bindings:
                    denials += await self._apply(attempt, bound.policy, kind, binding, narrowed, noted, quick=quick)
                    await turn.pause()
                for key, values in noted.items():
                    attempt.call.annotate(f"{bound.policy.name}/{key}", ", ".join(values))
        if denials:
            raise denials[0]

    async def _apply(
        self,
        attempt: Attempt,
        policy: Policy,
        kind: Kind,
        binding: Binding,
        narrowed: Narrowed,
        noted: Noted,
        *,
        quick: Budget,
    ) -> list[DeniedError]:
        try:
            if narrowed.kind_for(attempt) is None:
                return []
            if not policy.is_compiled:
                await in_thread(lambda: policy.expressions, user=COMPILER)
            params = await self._params.find(attempt, policy.param_kind, binding.params)
        except (ParamError, NotFoundError) as error:
            if policy.fails:
                return [_refusal(attempt, policy, binding, Finding(f"failed to configure binding: {error}"))]
            return []
        denials = []
        for each in params:
            work = partial(_outcome, policy, bindings_of(attempt, kind, policy.expressions.uses, each))
            outcome = await evaluated(work, quick, user=attempt.call.user.name)
            for key, value in outcome.annotations:
                # As a dict: equal values of several bindings are noted once, in their order.
                noted.setdefault(key, {})[value] = None
            for finding in outcome.findings:
                _report(attempt, policy, binding, finding)
                if finding.is_fatal or "Deny" in binding.actions:
                    denials.append(_refusal(attempt, policy, binding, finding))
        return denials


def _refusal(attempt: Attempt, policy: Policy, binding: Binding, finding: Finding) -> DeniedError:
    message = (
        f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}' denied request: {finding.message}"
    )
    kind = attempt.call.kind
    return DeniedError(
        _CODES.get(finding.reason, 422),
        finding.reason,
        f'{kind.group_resource} "{attempt.name}" is forbidden: {message}',
        kind=kind.plural,
        group=kind.group,
        name=attempt.name,
        causes=[Cause("", message)],
    )


def _report(attempt: Attempt, policy: Policy, binding: Binding, finding: Finding) -> None:
    """To the audit log and to the client, as the binding says."""
    if finding.is_fatal:
        return
    if "Audit" in binding.actions:
        failure = {
            "message": finding.message,
            "policy": policy.name,
            "binding": binding.name,
            "expressionIndex": finding.index,
            "validationActions": binding.actions,
        }
        attempt.call.annotate(FAILURE, encode([failure]).decode())
    if "Warn" in binding.actions:
        failed = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
        attempt.warn(f"{failed}: {finding.message}")
