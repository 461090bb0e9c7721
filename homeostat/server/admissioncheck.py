"""What is wrong with the expressions of a webhook configuration or a policy, found when it is written."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.json import JsonObject
from homeostat.server.admissioncel import Expression
from homeostat.server.policies import policy_of
from homeostat.server.webhooks import webhooks_of


def expression_causes(obj: JsonObject) -> list[Cause]:
    """One cause for each expression that does not compile."""
    return [
        invalid(f"{path}.{name}", expression.text, expression.fault)
        for path, name, expression in _expressions(obj)
        if expression.fault
    ]


def _expressions(obj: JsonObject) -> Iterator[tuple[str, str, Expression]]:
    match obj["kind"]:
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            for at, webhook in enumerate(webhooks_of(obj)):
                for index, condition in enumerate(webhook.conditions.expressions):
                    yield f"webhooks[{at}].matchConditions[{index}]", "expression", condition
        case "ValidatingAdmissionPolicy":
            yield from _policy_expressions(obj)


def _policy_expressions(obj: JsonObject) -> Iterator[tuple[str, str, Expression]]:
    policy = policy_of(obj)
    for index, condition in enumerate(policy.conditions.expressions):
        yield f"spec.matchConditions[{index}]", "expression", condition
    for index, variable in enumerate(policy.variables.values()):
        yield f"spec.variables[{index}]", "expression", variable
    for index, validation in enumerate(policy.validations):
        yield f"spec.validations[{index}]", "expression", validation.condition
        if validation.message_expression is not None:
            yield f"spec.validations[{index}]", "messageExpression", validation.message_expression
