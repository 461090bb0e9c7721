"""What pods, pod templates and RuntimeClasses may look like."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain, label_value, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.names import check_annotations, check_labels
from homeostat.server.kinds.builtins.checks.pods.affinity import EFFECTS, check_placement
from homeostat.server.kinds.builtins.checks.pods.container import (
    Surroundings,
    check_containers,
    check_ephemeral_containers,
)
from homeostat.server.kinds.builtins.checks.pods.hosts import check_hosts
from homeostat.server.kinds.builtins.checks.pods.resources import check_pod_resources, check_resources
from homeostat.server.kinds.builtins.checks.pods.security import check_pod_security
from homeostat.server.kinds.builtins.checks.pods.system import check_host_users, check_system
from homeostat.server.kinds.builtins.checks.pods.volume import check_volumes
from homeostat.server.kinds.builtins.members import items, numbered, struct, text
from homeostat.server.kinds.builtins.mirror import check_mirror
from homeostat.server.kinds.builtins.profiles import check_profiles
from homeostat.server.kinds.builtins.value import check_choice, check_required, check_text, is_integer

RESTART_POLICIES = ("Always", "Never", "OnFailure")
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_DEADLINE = 2**31 - 1


def check_template(template: Json, path: str) -> list[Cause]:
    if not isinstance(template, dict):
        return [required(path)]
    metadata = struct(template, "metadata")
    causes = check_labels(metadata.get("labels"), f"{path}.labels")
    causes += check_annotations(metadata.get("annotations"), f"{path}.annotations")
    causes += check_pod_spec(struct(template, "spec"), f"{path}.spec", is_template=True)
    causes += check_profiles(template, f"{path}.annotations", f"{path}.spec")
    if items(struct(template, "spec"), "ephemeralContainers"):
        causes.append(forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return causes


def check_pod_spec(
    spec: JsonObject,
    path: str,
    *,
    pod: str = "",
    is_template: bool = False,
) -> list[Cause]:
    """`pod` is the name of the pod, if it has one already."""
    volumes, causes = check_volumes(spec, path, pod)
    if not items(spec, "containers"):
        causes.append(required(f"{path}.containers"))
    claimed, found = _check_claims(spec, path) if "resourceClaims" in spec else (frozenset(), [])
    causes += found
    surroundings = Surroundings(spec, volumes, claimed, is_template)
    names: set[str] = set()
    for name in ("containers", "initContainers"):
        causes += check_containers(name, path, names, surroundings)
    if items(spec, "ephemeralContainers"):
        causes += check_ephemeral_containers(path, names, surroundings)
    if not text(spec, "restartPolicy"):
        causes.append(required(f"{path}.restartPolicy"))
    causes += check_choice(spec, "restartPolicy", path, RESTART_POLICIES)
    causes += check_choice(spec, "dnsPolicy", path, _DNS_POLICIES)
    if spec.get("preemptionPolicy") == "":
        causes.append(required(f"{path}.preemptionPolicy"))
    else:
        causes += check_choice(spec, "preemptionPolicy", path, ("Never", "PreemptLowerPriority"))
    causes += check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    causes += _check_deadline(spec, path)
    if spec.get("dnsPolicy") == "None" and "dnsConfig" not in spec:
        causes.append(required(f"{path}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"))
    causes += _check_names(spec, path)
    causes += _check_tolerations(spec, path)
    causes += check_pod_security(spec, path)
    for fields, check in _SELDOM:
        if not fields.isdisjoint(spec):
            causes += check(spec, path)
    return causes


def _check_claims(spec: JsonObject, path: str) -> tuple[frozenset[str], list[Cause]]:
    """The names of the pod's ResourceClaims, and what is wrong with them."""
    names: set[str] = set()
    causes: list[Cause] = []
    members = ("resourceClaimName", "resourceClaimTemplateName")
    for at, claim in numbered(spec, "resourceClaims", path):
        name = text(claim, "name")
        if name and name in names:
            causes.append(duplicate(f"{at}.name", name))
        else:
            causes += check_required(claim, "name", at, dns1123_label)
        names.add(name)
        given = [each for each in members if isinstance(claim.get(each), str)]
        if len(given) != 1:
            told = "must specify one of" if not given else "at most one may be specified of"
            causes.append(invalid(at, claim, f"{told}: `resourceClaimName`, `resourceClaimTemplateName`"))
        for each in given:
            causes += check_text(claim[each], f"{at}.{each}", dns1123_subdomain)
    return frozenset(names - {""}), causes


def _check_deadline(spec: JsonObject, path: str) -> list[Cause]:
    deadline = spec.get("activeDeadlineSeconds")
    if is_integer(deadline) and not 1 <= spec["activeDeadlineSeconds"] <= _MAX_DEADLINE:
        message = f"must be between 1 and {_MAX_DEADLINE}, inclusive"
        return [invalid(f"{path}.activeDeadlineSeconds", deadline, message)]
    return []


def _check_names(spec: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for name, rule in (
        ("serviceAccountName", dns1123_subdomain),
        ("nodeName", dns1123_subdomain),
        ("priorityClassName", dns1123_subdomain),
        ("hostname", dns1123_label),
        ("subdomain", dns1123_label),
    ):
        if value := text(spec, name):
            causes += check_text(value, f"{path}.{name}", rule)
    if isinstance(runtime := spec.get("runtimeClassName"), str):
        causes += check_text(runtime, f"{path}.runtimeClassName", dns1123_subdomain)
    return causes


def _check_tolerations(spec: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, toleration in numbered(spec, "tolerations", path):
        operator, key = text(toleration, "operator"), text(toleration, "key")
        if key:
            causes += check_text(key, f"{at}.key", qualified_name)
        causes += check_choice(toleration, "operator", at, ("", "Equal", "Exists", "Gt", "Lt"))
        causes += check_choice(toleration, "effect", at, ("", *EFFECTS))
        if not key and operator != "Exists":
            message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(invalid(f"{at}.operator", operator, message))
        if operator in ("", "Equal"):
            causes += check_text(text(toleration, "value"), f"{at}.operator", label_value)
        if operator == "Exists" and text(toleration, "value"):
            message = "value must be empty when `operator` is 'Exists'"
            causes.append(invalid(f"{at}.operator", toleration, message))
        if toleration.get("tolerationSeconds") is not None and text(toleration, "effect") != "NoExecute":
            message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(invalid(f"{at}.effect", text(toleration, "effect"), message))
    return causes


def _check_gates(spec: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, gate in numbered(spec, "readinessGates", path):
        causes += check_text(text(gate, "conditionType"), f"{at}.conditionType", qualified_name)
    names: set[str] = set()
    for at, gate in numbered(spec, "schedulingGates", path):
        name = text(gate, "name")
        causes += check_text(name, at, qualified_name)
        if name in names:
            causes.append(duplicate(at, name))
        names.add(name)
    return causes


def _check_overhead(spec: JsonObject, path: str) -> list[Cause]:
    return check_resources({"limits": struct(spec, "overhead")}, f"{path}.overhead")


_SELDOM: tuple[tuple[frozenset[str], Callable[[JsonObject, str], list[Cause]]], ...] = (
    (frozenset({"affinity", "topologySpreadConstraints"}), check_placement),
    (frozenset({"readinessGates", "schedulingGates"}), _check_gates),
    (frozenset({"overhead"}), _check_overhead),
    (frozenset({"hostAliases", "dnsConfig"}), check_hosts),
    (frozenset({"os"}), check_system),
    (frozenset({"hostUsers"}), check_host_users),
    (frozenset({"resources"}), check_pod_resources),
)
"""Checks of fields that most pods lack."""


def _check_pod(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_pod_spec(spec, "spec", pod=text(struct(obj, "metadata"), "name")) + check_mirror(obj)
    causes += check_profiles(obj, "metadata.annotations", "spec")
    if not text(spec, "serviceAccountName"):
        for at, volume in numbered(spec, "volumes", "spec"):
            for source_at, source in numbered(struct(volume, "projected"), "sources", f"{at}.projected"):
                if isinstance(source.get("serviceAccountToken"), dict):
                    message = "must not be specified when serviceAccountName is not set"
                    causes.append(forbidden(f"{source_at}.serviceAccountToken", message))
    return causes


def _check_pod_template(obj: JsonObject) -> list[Cause]:
    return check_template(obj.get("template"), "template")


def check_new_pod(obj: JsonObject) -> list[Cause]:
    """What only an update may set."""
    spec = struct(obj, "spec")
    causes: list[Cause] = []
    if items(spec, "ephemeralContainers"):
        causes.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if items(spec, "schedulingGates") and text(spec, "nodeName"):
        causes.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return causes


def _check_runtime_class(obj: JsonObject) -> list[Cause]:
    causes = check_text(text(obj, "handler"), "handler", dns1123_label)
    causes += check_resources({"limits": struct(obj, "overhead", "podFixed")}, "overhead")
    scheduling = struct(obj, "scheduling")
    causes += check_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    causes += _check_tolerations(scheduling, "scheduling.tolerations")
    seen: set[tuple[str, ...]] = set()
    for at, toleration in numbered(scheduling, "tolerations", "scheduling"):
        key = tuple(text(toleration, name) for name in ("key", "operator", "value", "effect"))
        if key in seen:
            causes.append(duplicate(at, toleration))
        seen.add(key)
    return causes


CHECKS = {
    ("", "Pod"): _check_pod,
    ("", "PodTemplate"): _check_pod_template,
    ("node.k8s.io", "RuntimeClass"): _check_runtime_class,
}
