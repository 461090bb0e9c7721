from __future__ import annotations

from typing import Any

import pytest

from homeostat.cel import STRING, Budget, EvaluationError
from homeostat.server.admission.expressions import (
    Conditions,
    ExpressionError,
    compile_expression,
    policy_environment,
    webhook_environment,
)

REQUEST: dict[str, Any] = {
    "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    "resource": {"group": "", "version": "v1", "resource": "configmaps"},
    "name": "a",
    "namespace": "default",
    "operation": "CREATE",
    "userInfo": {"username": "ada", "groups": ["dev"], "extra": {"team": ["a"]}},
    "dryRun": False,
    "options": {"kind": "CreateOptions"},
}
BINDINGS = {"object": {"data": {"x": "1"}}, "oldObject": None, "request": REQUEST}


def conditions(*expressions: str, fails: bool = True) -> Conditions:
    return Conditions([{"expression": each} for each in expressions], webhook_environment(), fails=fails)


@pytest.mark.parametrize(
    ("expressions", "holds"),
    [
        (["object.data.x == '1'", "request.operation == 'CREATE'"], True),
        (["request.namespace == 'default' && 'dev' in request.userInfo.groups"], True),
        (["oldObject == null && request.resource.resource == 'configmaps'"], True),
        (["request.userInfo.extra['team'] == ['a'] && request.options.kind == 'CreateOptions'"], True),
        (["!request.dryRun && request.kind.kind == 'ConfigMap'"], True),
        (["object.data.x == '2'"], False),
        (["object.data.missing == '2'", "false"], False),
        (["has(request.subResource)"], False),
        (["object.data.?missing.orValue('') == ''"], True),
    ],
    ids=str,
)
def test_conditions_hold(expressions: list[str], holds: bool) -> None:
    assert conditions(*expressions).hold(BINDINGS) is holds


def test_a_condition_without_a_value_is_decided_by_the_failure_policy() -> None:
    assert conditions("object.data.missing == ''", "true", fails=False).hold(BINDINGS) is False
    with pytest.raises(ExpressionError, match="no such key: missing"):
        conditions("object.data.missing == ''", "true").hold(BINDINGS)
    with pytest.raises(ExpressionError, match=r"\[expression 'object.a == 1' .*, expression 'object.b == 1' .*\]"):
        conditions("object.a == 1", "object.b == 1").hold(BINDINGS)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 +", "compilation failed"),
        ("1 + 1", "must evaluate to bool"),
        ("request.color == ''", "undefined field 'color'"),
        ("params.x == 1", "undeclared reference to 'params'"),
        ("variables.x == 1", "undefined field 'x'"),
        ("authorizer.path('/').check('get')", "must evaluate to bool but got kubernetes.authorization.Decision"),
        ("authorizer.none()", "undeclared reference to 'none'"),
        ("Object{} == null", "undeclared reference to 'Object'"),
    ],
)
def test_what_does_not_compile_fails_with_the_reason(text: str, fault: str) -> None:
    expression = compile_expression(policy_environment({}, has_params=False), text)
    assert fault in expression.fault


def test_an_expression_knows_the_variables_that_it_mentions() -> None:
    environment = policy_environment({"a": STRING, "b": STRING, "c": STRING}, has_params=True)
    expression = compile_expression(environment, "[variables.a].all(v, v == variables.b) || has(params.variables.c)")
    assert expression.variables == {"a", "b"}


@pytest.mark.parametrize("expression", ["Object{?metadata: dyn('x')}", "{?'metadata': dyn('x')}", "[?dyn('x')]"])
def test_an_optional_entry_of_a_plain_value_is_an_error_of_the_expression(expression: str) -> None:
    program = policy_environment({}, has_params=False, constructs=True).compile(expression)
    with pytest.raises(EvaluationError, match="from non-optional value"):
        program.evaluate({}, Budget())
