"""Validates webhook configurations, policies and bindings when they are written.

The checks of the built-in kinds validate their structure. This module compiles expressions and checks parameters and
variables.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.cel import BOOL, NULL, STRING, Type
from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import path_segment
from homeostat.objects.json import JsonObject
from homeostat.server.admission.expressions import Expression
from homeostat.server.admission.policies.policy import policy_of
from homeostat.server.admission.webhooks.webhook import webhooks_of
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import numbered, struct, text

_ACTIONS = ("Allow", "Deny")
_TRUTH = (BOOL,)
_NAMES = {STRING: "string", NULL: "null_type"}
_Asked = tuple[str, Expression, tuple[Type, ...]]
"""Where an expression is, and of which types its result may be; of any if there are none."""


def configuration_causes(obj: JsonObject) -> list[Cause]:
    match obj["kind"]:
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            return _faults(_condition_expressions(obj))
        case "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy":
            spec = struct(obj, "spec")
            return _check_names(spec) or _faults(_policy_expressions(obj))
        case "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding":
            reference = struct(obj, "spec").get("paramRef")
            return _check_reference(reference, "spec.paramRef") if isinstance(reference, dict) else []
    return []


def _faults(expressions: Iterator[_Asked]) -> list[Cause]:
    """What does not compile, and what would be of another type, or of one that only shows at run time."""
    causes: list[Cause] = []
    for path, expression, wanted in expressions:
        fault, program = expression.fault, expression.program
        if not fault and wanted and program is not None and program.type not in wanted:
            listed = str(wanted[0]) if len(wanted) == 1 else f"one of [{' '.join(_NAMES[each] for each in wanted)}]"
            fault = f"must evaluate to {listed} but got {program.type}"
        if fault:
            causes.append(invalid(path, expression.text, fault))
    return causes


def _condition_expressions(obj: JsonObject) -> Iterator[_Asked]:
    for at, webhook in enumerate(webhooks_of(obj)):
        for index, condition in enumerate(webhook.conditions.expressions):
            yield f"webhooks[{at}].matchConditions[{index}].expression", condition, _TRUTH


def _policy_expressions(obj: JsonObject) -> Iterator[_Asked]:
    policy = policy_of(obj).expressions
    for index, condition in enumerate(policy.conditions.expressions):
        yield f"spec.matchConditions[{index}].expression", condition, _TRUTH
    for index, variable in enumerate(policy.variables.values()):
        yield f"spec.variables[{index}].expression", variable, ()
    for index, validation in enumerate(policy.validations):
        yield f"spec.validations[{index}].expression", validation.condition, _TRUTH
        if validation.message_expression is not None:
            yield f"spec.validations[{index}].messageExpression", validation.message_expression, (STRING,)
    for index, annotation in enumerate(policy.annotations):
        yield f"spec.auditAnnotations[{index}].valueExpression", annotation.value, (STRING, NULL)
    for index, mutation in enumerate(policy.mutations):
        member = "jsonPatch" if mutation.is_json_patch else "applyConfiguration"
        yield f"spec.mutations[{index}].{member}.expression", mutation.expression, ()


def _check_names(spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for at, variable in numbered(spec, "variables", "spec"):
        name = text(variable, "name")
        causes += [required(f"{at}.{each}") for each in ("name", "expression") if not text(variable, each).strip()]
        if name and not (name.isidentifier() and name.isascii()):
            causes.append(invalid(f"{at}.name", name, "name is not a valid CEL identifier"))
    return causes


def _check_reference(reference: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    name, selector = text(reference, "name"), reference.get("selector")
    causes += [invalid(f"{path}.name", name, each) for each in path_segment(name)]
    if name and selector is not None:
        message = "name and selector are mutually exclusive"
        causes += [forbidden(f"{path}.{each}", message) for each in ("name", "selector")]
    elif not name and selector is None:
        causes.append(required(path, "one of name or selector must be specified"))
    causes += check_selector(selector, f"{path}.selector")
    action = text(reference, "parameterNotFoundAction")
    if not action:
        causes.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _ACTIONS:
        causes.append(unsupported(f"{path}.parameterNotFoundAction", action, _ACTIONS))
    return causes
