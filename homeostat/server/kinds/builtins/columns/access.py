"""The columns of RBAC, certificates and admission: roles, bindings, requests, webhooks and policies."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import human_duration
from homeostat.server.kinds.builtins.columns.cluster import created_at
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    UNSET,
    Cell,
    Printer,
    age_of,
    count,
    name_of,
    shown,
    wide,
)
from homeostat.server.kinds.builtins.label_selector import print_selector
from homeostat.server.kinds.builtins.members import integer, items, struct, structs, text


def _binding(obj: JsonObject) -> list[Cell]:
    role = struct(obj, "roleRef")
    subjects = structs(obj, "subjects")
    accounts = (
        f"{text(each, 'namespace')}/{text(each, 'name')}" if text(each, "namespace") else text(each, "name")
        for each in subjects
        if each.get("kind") == "ServiceAccount"
    )
    return [
        name_of(obj),
        f"{text(role, 'kind')}/{text(role, 'name')}",
        age_of(obj),
        ", ".join(text(each, "name") for each in subjects if each.get("kind") == "User"),
        ", ".join(text(each, "name") for each in subjects if each.get("kind") == "Group"),
        ", ".join(accounts),
    ]


def _webhooks(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(items(obj, "webhooks")), age_of(obj)]


def _policy(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    kind = spec.get("paramKind")
    printed = f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}" if isinstance(kind, dict) else UNSET
    return [name_of(obj), len(items(spec, "validations") or items(spec, "mutations")), printed, age_of(obj)]


def _policy_binding(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    reference = struct(spec, "paramRef")
    printed = UNSET
    if name := text(reference, "name"):
        printed = f"{text(reference, 'namespace') or '*'}/{name}"
    elif reference.get("selector") is not None:
        printed = print_selector(reference["selector"])
    return [name_of(obj), text(spec, "policyName"), printed, age_of(obj)]


_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
_ROLE = Printer((NAME, CREATED_AT), created_at)
_BINDING = Printer((NAME, shown("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)
_WEBHOOKS = Printer((NAME, count("Webhooks", "How many webhooks it registers."), AGE), _webhooks)


def _api_service(obj: JsonObject) -> list[Cell]:
    service = struct(obj, "spec").get("service")
    where = f"{text(service, 'namespace')}/{text(service, 'name')}" if isinstance(service, dict) else "Local"
    found = next((each for each in structs(struct(obj, "status"), "conditions") if each.get("type") == "Available"), {})
    status, reason = text(found, "status") or "Unknown", text(found, "reason")
    return [name_of(obj), where, status if status == "True" else f"{status} ({reason})", age_of(obj)]


def _signing_request(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    seconds = spec.get("expirationSeconds")
    types = {text(each, "type") for each in structs(status, "conditions")}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    states += ["Failed"] if "Failed" in types else []
    states += ["Issued"] if text(status, "certificate") else []
    return [
        name_of(obj),
        age_of(obj),
        text(spec, "signerName") or NONE,
        text(spec, "username"),
        human_duration(integer(spec, "expirationSeconds")) if seconds is not None else NONE,
        ",".join(states),
    ]


PRINTERS = {
    ("apiregistration.k8s.io", "APIService"): Printer(
        (NAME, shown("Service", "Who serves the group."), shown("Available"), AGE), _api_service
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): Printer(
        (
            NAME,
            AGE,
            shown("SignerName"),
            shown("Requestor", "Who made the request."),
            shown("RequestedDuration"),
            shown("Condition"),
        ),
        _signing_request,
    ),
    (_RBAC, "Role"): _ROLE,
    (_RBAC, "ClusterRole"): _ROLE,
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): Printer(
        (NAME, count("Validations", "How many rules it has."), shown("ParamKind"), AGE), _policy
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): Printer(
        (NAME, shown("PolicyName"), shown("ParamRef"), AGE), _policy_binding
    ),
    (_ADMISSION, "MutatingAdmissionPolicy"): Printer(
        (NAME, count("Mutations", "How many mutations it has."), shown("ParamKind"), AGE), _policy
    ),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): Printer(
        (NAME, shown("PolicyName"), shown("ParamRef"), AGE), _policy_binding
    ),
}
