"""Defaults of RBAC bindings, admission webhooks and admission policies."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import set_default, struct, structs, text

_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
_HTTPS_PORT = 443


def _default_binding(obj: JsonObject) -> None:
    if isinstance(role := obj.get("roleRef"), dict):
        set_default(role, "apiGroup", _RBAC)
    for subject in structs(obj, "subjects"):
        if text(subject, "kind") in ("User", "Group"):
            set_default(subject, "apiGroup", _RBAC)


def _default_account(obj: JsonObject) -> None:
    """Of its Secrets, an account keeps the names."""
    for reference in structs(obj, "secrets"):
        for name in reference.keys() - {"name"}:
            del reference[name]


def _absent(holder: JsonObject, name: str, value: str) -> None:
    """An empty text stays, and is refused."""
    if holder.get(name) is None:
        holder[name] = value


def _default_webhooks(obj: JsonObject) -> None:
    for webhook in structs(obj, "webhooks"):
        _absent(webhook, "failurePolicy", "Fail")
        _absent(webhook, "matchPolicy", "Equivalent")
        _default_selectors(webhook)
        if webhook.get("timeoutSeconds") is None:
            webhook["timeoutSeconds"] = 10
        service = struct(webhook, "clientConfig").get("service")
        if isinstance(service, dict) and service.get("port") is None:
            service["port"] = _HTTPS_PORT
        _default_rules(webhook, "rules")


def _default_mutating_webhooks(obj: JsonObject) -> None:
    _default_webhooks(obj)
    for webhook in structs(obj, "webhooks"):
        _absent(webhook, "reinvocationPolicy", "Never")


def _default_selectors(holder: JsonObject) -> None:
    for name in ("namespaceSelector", "objectSelector"):
        if holder.get(name) is None:
            holder[name] = {}


def _default_rules(holder: JsonObject, name: str) -> None:
    for rule in structs(holder, name):
        _absent(rule, "scope", "*")


def _default_match(spec: JsonObject, name: str) -> None:
    if isinstance(match := spec.get(name), dict):
        _absent(match, "matchPolicy", "Equivalent")
        _default_selectors(match)
        _default_rules(match, "resourceRules")
        _default_rules(match, "excludeResourceRules")


def _default_policy(obj: JsonObject) -> None:
    if isinstance(spec := obj.get("spec"), dict):
        _absent(spec, "failurePolicy", "Fail")
        _default_match(spec, "matchConstraints")


def _default_policy_binding(obj: JsonObject) -> None:
    if isinstance(spec := obj.get("spec"), dict):
        _default_match(spec, "matchResources")


DEFAULTS = {
    ("", "ServiceAccount"): _default_account,
    (_RBAC, "RoleBinding"): _default_binding,
    (_RBAC, "ClusterRoleBinding"): _default_binding,
    (_ADMISSION, "MutatingWebhookConfiguration"): _default_mutating_webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _default_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _default_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _default_policy_binding,
    (_ADMISSION, "MutatingAdmissionPolicy"): _default_policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _default_policy_binding,
}
