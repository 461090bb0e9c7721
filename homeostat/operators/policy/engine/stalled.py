"""An invalid policy: it evaluates no Pod, but it still selects Pods. Pure.

An invalid selector counts as one that selects every Pod.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.invalid import Fault, PolicyFaultError
from homeostat.operators.policy.engine.selector import compile_selector
from homeostat.operators.policy.spec import PolicySpec, Selector

_SELECTORS = ("selector", "namespace_selector")


class StalledPolicy:
    __slots__ = ("fault", "name", "scope", "spec")

    def __init__(self, spec: PolicySpec, fault: Fault, *, name: str = "") -> None:
        self.spec, self.fault, self.name = spec, fault, name
        self.scope = _scope(spec)
        """An evaluator without checks that selects the same Pods."""

    def selects(self, pod: Pod) -> bool:
        return self.scope.selects(pod)

    def __str__(self) -> str:
        return f"policy {self.name} is invalid and was not evaluated: {self.fault}"


def _scope(spec: PolicySpec) -> Evaluator:
    selectors = {name: getattr(spec, name, None) for name in _SELECTORS}
    valid = {name: each for name, each in selectors.items() if each is not None and _is_valid(each)}
    return Evaluator(msgspec.structs.replace(type(spec)(), **valid))


def _is_valid(selector: Selector) -> bool:
    try:
        compile_selector(selector, "")
    except PolicyFaultError:
        return False
    return True
