"""CEL rules of a policy: expressions over `object`, compiled once and evaluated for many Pods.

A rule that cannot be evaluated for a Pod, because it names a field that the Pod lacks, is a finding. A rule that
does not compile makes the policy invalid. All rules of a policy share a cost budget for each Pod, so that no
policy delays the others for long; rules that exceed the budget are findings too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from homeostat.cel import BOOL, DYN, STRING, Budget, CelError, CompileError, Environment, Program, Type
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.engine.check import CHECKS, Check, Finding
from homeostat.operators.policy.engine.invalid import PolicyFaultError
from homeostat.operators.policy.spec import PolicySpec, Rule

RuleTest = Callable[[JsonObject, Budget], Finding | None]

LONGEST_MESSAGE = 1024
MOST_COST = 2_000_000
"""The cost budget of all rules of a policy for one Pod: about a tenth of a second."""
MOST_CHARACTERS = 65_536
"""Of all expressions of a policy: compiling them takes about a second."""
_BUILT_IN = frozenset(check.type for check in CHECKS)


@lru_cache(1)
def _environment() -> Environment:
    return Environment({"object": DYN})


def rule_characters(spec: PolicySpec) -> int:
    """The length of all expressions, which is what compiling them costs."""
    return sum(len(each.expression) + len(each.message_expression or "") for each in spec.rules)


def compile_rules(spec: PolicySpec) -> tuple[RuleTest, ...]:
    if (characters := rule_characters(spec)) > MOST_CHARACTERS:
        text = f"all expressions have {characters} characters; at most {MOST_CHARACTERS} are allowed"
        raise PolicyFaultError("InvalidRule", "spec.rules", text)
    seen: set[str] = set()
    tests = []
    for at, rule in enumerate(spec.rules):
        if rule.name in seen or rule.name in _BUILT_IN:
            raise PolicyFaultError(
                "InvalidRule", f"spec.rules[{at}].name", f'"{rule.name}" is already the name of another check'
            )
        seen.add(rule.name)
        tests.append(_compile(rule, spec, f"spec.rules[{at}]"))
    return tuple(tests)


def _compile(rule: Rule, spec: PolicySpec, path: str) -> RuleTest:
    condition = _program(rule.expression, BOOL, f"{path}.expression")
    default = (rule.message or f"rule '{rule.name}' failed: {rule.expression.strip()}")[:LONGEST_MESSAGE]
    message = rule.message_expression and _program(rule.message_expression, STRING, f"{path}.messageExpression")
    check = Check(rule.name, rule.weight, rule.severity, "{fact}").for_policy(spec)

    def test(body: JsonObject, budget: Budget) -> Finding | None:
        bindings = {"object": body}
        try:
            is_true = condition.evaluate(bindings, budget)
        except CelError as error:
            return Finding(check, "", f"rule '{rule.name}' cannot be evaluated: {error}"[:LONGEST_MESSAGE])
        if is_true is True:
            return None
        return Finding(check, "", _message(message, bindings, budget, default) if message else default)

    return test


def _message(message: Program, bindings: dict[str, JsonObject], budget: Budget, otherwise: str) -> str:
    try:
        text = message.evaluate(bindings, budget)
    except CelError:
        return otherwise
    return text[:LONGEST_MESSAGE] if isinstance(text, str) and text.strip() else otherwise


def _program(text: str, wanted: Type, path: str) -> Program:
    try:
        program = _environment().compile(text)
    except CompileError as error:
        raise PolicyFaultError("InvalidRule", path, f"does not compile: {error}") from error
    if program.type not in (wanted, DYN):
        raise PolicyFaultError("InvalidRule", path, f"must be of type {wanted}, not {program.type}")
    return program
