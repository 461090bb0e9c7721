"""What an APIService may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid, required, unsupported
from homeostat.objects.identifiers import dns1035_label, dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, numbered, struct, text
from homeostat.server.kinds.builtins.value import check_port, check_text

_MAX_GROUP_PRIORITY, _MAX_VERSION_PRIORITY = 20_000, 1_000
_STATUSES = ("False", "True", "Unknown")


def _check_service(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    group, version = text(spec, "group"), text(spec, "version")
    causes: list[Cause] = []
    if (name := text(struct(obj, "metadata"), "name")) != f"{version}.{group}":
        message = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
        causes.append(invalid("metadata.name", name, message))
    if group:
        causes += check_text(group, "spec.group", dns1123_subdomain)
    elif version != "v1":
        causes.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    causes += check_text(version, "spec.version", dns1035_label)
    for field, limit in (("groupPriorityMinimum", _MAX_GROUP_PRIORITY), ("versionPriority", _MAX_VERSION_PRIORITY)):
        if not 0 < integer(spec, field) <= limit:
            message = f"must be positive and less than {limit}"
            causes.append(invalid(f"spec.{field}", integer(spec, field), message))
    return causes + _check_backend(spec) + _check_conditions(struct(obj, "status"))


def _check_backend(spec: JsonObject) -> list[Cause]:
    service, bundle, is_insecure = (
        spec.get("service"),
        text(spec, "caBundle"),
        spec.get("insecureSkipTLSVerify") is True,
    )
    if not isinstance(service, dict):
        causes = [invalid("spec.caBundle", "...", "local APIServices may not have a caBundle")] if bundle else []
        if is_insecure:
            message = "local APIServices may not have insecureSkipTLSVerify"
            causes.append(invalid("spec.insecureSkipTLSVerify", True, message))
        return causes
    causes = [required(f"spec.service.{name}") for name in ("namespace", "name") if not text(service, name)]
    if check_port(service.get("port"), ""):
        message = "port is not valid: must be between 1 and 65535, inclusive"
        causes.append(invalid("spec.service.port", service["port"], message))
    if is_insecure and bundle:
        causes.append(invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return causes


def _check_conditions(status: JsonObject) -> list[Cause]:
    return [
        unsupported(f"{at}.status", text(condition, "status"), _STATUSES)
        for at, condition in numbered(status, "conditions", "status")
        if text(condition, "status") not in _STATUSES
    ]


CHECKS = {("apiregistration.k8s.io", "APIService"): _check_service}
