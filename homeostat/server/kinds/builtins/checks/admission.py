"""What webhook configurations and admission policies may look like. Their CEL is compiled elsewhere."""

from __future__ import annotations

from homeostat.objects.client_config import REVIEW_VERSIONS, check_client_config, check_review_versions
from homeostat.objects.errors import Cause, duplicate, invalid, required, too_many, unsupported
from homeostat.objects.identifiers import dns1035_label, dns1123_subdomain, path_segment, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_duplicates, check_required, check_text, is_integer

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_CHANGING = ("*", "CONNECT", "CREATE", "UPDATE")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_SCOPES = ("*", "Cluster", "Namespaced")
_FAILURE_POLICIES, _MATCH_POLICIES = ("Fail", "Ignore"), ("Equivalent", "Exact")
_MAX_CONDITIONS = 64
MAX_EXPRESSIONS = 128
MAX_EXPRESSION_CHARACTERS = 32 * 1024
"""Of all expressions of a policy together: they are compiled on the event loop when a policy changes."""
MAX_CONDITION_CHARACTERS = 128 * 1024
"""Of the conditions of all webhooks of a configuration: compiling that many takes about a second of a thread."""
_EXPRESSIONS = {
    "validations": ("expression", "messageExpression"),
    "variables": ("expression",),
    "auditAnnotations": ("valueExpression",),
    "matchConditions": ("expression",),
    "mutations": (),
}
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def _check_webhooks(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for at, webhook in numbered(obj, "webhooks", ""):
        causes += _check_webhook(webhook, at)
        name = text(webhook, "name")
        if name and name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
    return causes + _check_condition_length(obj)


def _check_condition_length(obj: JsonObject) -> list[Cause]:
    total = sum(
        len(text(condition, "expression"))
        for at, webhook in numbered(obj, "webhooks", "")
        for _, condition in numbered(webhook, "matchConditions", at)
    )
    if total <= MAX_CONDITION_CHARACTERS:
        return []
    message = f"Too long: the match conditions have {total} characters in total; limit {MAX_CONDITION_CHARACTERS}"
    return [Cause("FieldValueTooLong", f"{message}; use several configurations", "webhooks")]


def _check_webhook(webhook: JsonObject, path: str) -> list[Cause]:
    causes = check_required(webhook, "name", path, _fully_qualified)
    for at, rule in numbered(webhook, "rules", path):
        causes += _check_rule(rule, at)
    causes += check_choice(webhook, "failurePolicy", path, _FAILURE_POLICIES)
    causes += check_choice(webhook, "matchPolicy", path, _MATCH_POLICIES)
    causes += check_choice(webhook, "reinvocationPolicy", path, ("IfNeeded", "Never"))
    if webhook.get("sideEffects") is None:
        causes.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    causes += check_choice(webhook, "sideEffects", path, _SIDE_EFFECTS)
    timeout = webhook.get("timeoutSeconds")
    if is_integer(timeout) and not 1 <= webhook["timeoutSeconds"] <= 30:
        message = "the timeout value must be between 1 and 30 seconds"
        causes.append(invalid(f"{path}.timeoutSeconds", timeout, message))
    for name in ("namespaceSelector", "objectSelector"):
        causes += check_selector(webhook.get(name), f"{path}.{name}")
    causes += check_client_config(struct(webhook, "clientConfig"), f"{path}.clientConfig")
    causes += _check_match_conditions(webhook, path)
    versions, missing = strings(webhook, "admissionReviewVersions"), f"must specify one of {', '.join(REVIEW_VERSIONS)}"
    return causes + check_review_versions(versions, f"{path}.admissionReviewVersions", missing=missing)


def _fully_qualified(name: str) -> list[str]:
    messages = dns1123_subdomain(name)
    if not messages and name.count(".") < 2:
        return ["should be a domain with at least three segments separated by dots"]
    return messages


def _check_rule(rule: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    operations = strings(rule, "operations")
    for name, message in (("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = items(rule, name)
        if not values:
            causes.append(required(f"{path}.{name}"))
        elif len(values) > 1 and "*" in values:
            causes.append(invalid(f"{path}.{name}", values, f"if '*' is present, must not specify other {message}"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            causes.append(unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS))
    causes += [
        required(f"{path}.apiVersions[{index}]") for index, each in enumerate(items(rule, "apiVersions")) if each == ""
    ]
    causes += _check_resources(items(rule, "resources"), f"{path}.resources")
    if "resourceNames" in rule:
        causes += _check_resource_names(rule, path)
    return causes + check_choice(rule, "scope", path, _SCOPES)


def _check_resource_names(rule: JsonObject, path: str) -> list[Cause]:
    names, at = strings(rule, "resourceNames"), f"{path}.resourceNames"
    causes = [cause for index, name in enumerate(names) for cause in check_text(name, f"{at}[{index}]", path_segment)]
    return causes + check_duplicates(names, at)


def _check_resources(resources: list[object], path: str) -> list[Cause]:
    if not resources:
        return [required(path)]
    causes = [required(f"{path}[{index}]") for index, each in enumerate(resources) if each == ""]
    if len(resources) > 1 and "*/*" in resources:
        causes.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    plain = [each for each in resources if isinstance(each, str) and "/" not in each]
    # Kubernetes looks at the last resource without a subresource only.
    if "*" in resources and plain[-1] != "*":
        message = "if '*' is present, must not specify other resources without subresources"
        causes.append(invalid(path, resources, message))
    return causes


def _check_match_conditions(holder: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    if (total := len(items(holder, "matchConditions"))) > _MAX_CONDITIONS:
        message = f"Too many: {total}: must have at most {_MAX_CONDITIONS} items"
        causes.append(Cause("FieldValueTooMany", message, f"{path}.matchConditions"))
    for at, condition in numbered(holder, "matchConditions", path):
        if not text(condition, "expression").strip():
            causes.append(required(f"{at}.expression"))
        causes += check_required(condition, "name", at, qualified_name)
        name = text(condition, "name")
        if name and name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
    return causes


def _check_policy(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_constraints(spec)
    if not items(spec, "validations") and not items(spec, "auditAnnotations"):
        message = "validations or auditAnnotations must be set"
        causes += [required(f"spec.{each}", message) for each in ("validations", "auditAnnotations")]
    for at, validation in numbered(spec, "validations", "spec"):
        if not text(validation, "expression").strip():
            causes.append(required(f"{at}.expression", "expression is not specified"))
        causes += check_choice(validation, "reason", at, _REASONS)
    causes += _check_annotations(spec, text(struct(obj, "metadata"), "name"))
    return causes + _check_match_conditions(spec, "spec") + _check_expressions(spec)


def _check_annotations(spec: JsonObject, policy: str) -> list[Cause]:
    """Audit annotations, whose whole keys begin with the name of the policy."""
    causes: list[Cause] = []
    keys: set[str] = set()
    for at, annotation in numbered(spec, "auditAnnotations", "spec"):
        key = text(annotation, "key")
        if policy:
            causes += check_text(f"{policy}/{key}", f"{at}.key", qualified_name)
        else:
            causes.append(invalid(f"{at}.key", key, "requires metadata.name be non-empty"))
        if not text(annotation, "valueExpression").strip():
            causes.append(required(f"{at}.valueExpression", "valueExpression is not specified"))
        if key in keys:
            causes.append(duplicate(f"{at}.key", key))
        keys.add(key)
    return causes


def _check_parameters(spec: JsonObject) -> list[Cause]:
    """Which kind of objects a policy takes parameters from."""
    kind, at = spec.get("paramKind"), "spec.paramKind"
    if not isinstance(kind, dict):
        return []
    version, name = text(kind, "apiVersion"), text(kind, "kind")
    causes = [required(f"{at}.{each}") for each in ("apiVersion", "kind") if not text(kind, each)]
    group, _, short = version.rpartition("/")
    if version.count("/") > 1:
        causes.append(invalid(f"{at}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif version:
        causes += check_text(group, f"{at}.apiVersion", dns1123_subdomain) if group else []
        causes += check_text(short, f"{at}.apiVersion", dns1035_label)
    if name:
        causes += check_text(name.lower(), f"{at}.kind", dns1035_label)
    return causes


def _check_mutating_policy(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_constraints(spec) + _check_match_conditions(spec, "spec")
    causes += _check_operations(struct(spec, "matchConstraints"), "spec.matchConstraints")
    if not items(spec, "mutations"):
        causes.append(required("spec.mutations", "mutations must contain at least one item"))
    for at, mutation in numbered(spec, "mutations", "spec"):
        causes += _check_mutation(mutation, at)
    if not text(spec, "reinvocationPolicy"):
        causes.append(required("spec.reinvocationPolicy"))
    causes += check_choice(spec, "reinvocationPolicy", "spec", ("IfNeeded", "Never"))
    return causes + _check_expressions(spec)


def _check_operations(match: JsonObject, path: str) -> list[Cause]:
    """No change is made to what is deleted. Kubernetes leaves out which rule it is."""
    rules = [each for name in ("resourceRules", "excludeResourceRules") for _, each in numbered(match, name, "")]
    return [
        unsupported(f"{path}.resourceRules.operations", each, _CHANGING)
        for rule in rules
        for each in strings(rule, "operations")
        if each not in _CHANGING
    ]


def _check_mutation(mutation: JsonObject, path: str) -> list[Cause]:
    patch = text(mutation, "patchType")
    if not patch:
        return [required(f"{path}.patchType")]
    if patch not in _PATCHES:
        return [unsupported(f"{path}.patchType", patch, tuple(_PATCHES))]
    causes: list[Cause] = []
    own = _PATCHES[patch]
    if not isinstance(mutation.get(own), dict):
        causes.append(required(f"{path}.{own}", f"must be specified when patchType is {patch}"))
    elif not text(struct(mutation, own), "expression").strip():
        causes.append(required(f"{path}.{own}.expression"))
    for other in _PATCHES.values():
        if other != own and mutation.get(other) is not None:
            message = f"must not be specified when patchType is {patch}"
            causes.append(invalid(f"{path}.{other}", f"{{{other}}}", message))
    return causes


def _check_constraints(spec: JsonObject) -> list[Cause]:
    causes = check_choice(spec, "failurePolicy", "spec", _FAILURE_POLICIES)
    constraints = spec.get("matchConstraints")
    if not isinstance(constraints, dict):
        causes.append(required("spec.matchConstraints"))
    else:
        if not items(constraints, "resourceRules"):
            causes.append(required("spec.matchConstraints.resourceRules"))
        causes += _check_match(constraints, "spec.matchConstraints")
    return causes + _check_parameters(spec)


def _check_expressions(spec: JsonObject) -> list[Cause]:
    causes, total = [], 0
    for name, members in _EXPRESSIONS.items():
        if (count := len(items(spec, name))) > MAX_EXPRESSIONS:
            causes.append(too_many(f"spec.{name}", count, MAX_EXPRESSIONS))
        total += sum(len(text(each, member)) for _, each in numbered(spec, name, "spec") for member in members)
    for _, mutation in numbered(spec, "mutations", "spec"):
        total += sum(len(text(struct(mutation, member), "expression")) for member in _PATCHES.values())
    if total > MAX_EXPRESSION_CHARACTERS:
        message = f"Too long: the expressions have {total} characters in total; limit {MAX_EXPRESSION_CHARACTERS}"
        causes.append(Cause("FieldValueTooLong", f"{message}; use several policies", "spec"))
    return causes


def _check_match(match: JsonObject, path: str) -> list[Cause]:
    causes = check_choice(match, "matchPolicy", path, _MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        causes += check_selector(match.get(name), f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for at, rule in numbered(match, name, path):
            causes += _check_rule(rule, at)
    return causes


def _check_mutating_binding(obj: JsonObject) -> list[Cause]:
    return _check_binding(obj) + _check_operations(struct(obj, "spec", "matchResources"), "spec.matchResources")


def _check_binding(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_required(spec, "policyName", "spec", dns1123_subdomain)
    if isinstance(match := spec.get("matchResources"), dict):
        causes += _check_match(match, "spec.matchResources")
    return causes


def _check_policy_binding(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_binding(obj)
    actions = strings(spec, "validationActions")
    if not actions:
        causes.append(required("spec.validationActions"))
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            causes.append(unsupported(f"spec.validationActions[{index}]", action, _ACTIONS))
        elif action in actions[:index]:
            causes.append(duplicate(f"spec.validationActions[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        message = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        causes.append(invalid("spec.validationActions", actions, f"{message}response and headers serves no purpose)"))
    return causes


_GROUP = "admissionregistration.k8s.io"
CHECKS = {
    (_GROUP, "MutatingWebhookConfiguration"): _check_webhooks,
    (_GROUP, "ValidatingWebhookConfiguration"): _check_webhooks,
    (_GROUP, "ValidatingAdmissionPolicy"): _check_policy,
    (_GROUP, "ValidatingAdmissionPolicyBinding"): _check_policy_binding,
    (_GROUP, "MutatingAdmissionPolicy"): _check_mutating_policy,
    (_GROUP, "MutatingAdmissionPolicyBinding"): _check_mutating_binding,
}
