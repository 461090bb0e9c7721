"""What the remaining core kinds, Leases, Events and PriorityClasses may look like."""

from __future__ import annotations

import binascii
from base64 import b64decode

from homeostat.objects.errors import BadRequestError, Cause, are_enough, forbidden, invalid, required, too_long
from homeostat.objects.identifiers import config_key, qualified_name
from homeostat.objects.json import Json, JsonObject, decode
from homeostat.server.kinds.builtins.members import integer, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_counts,
    check_text,
    is_integer,
)

_MAX_DATA_BYTES = 1024 * 1024
_NAMESPACE_FINALIZERS = ("kubernetes",)
_MAX_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
# Keys that a Secret of the type requires.
_SECRET_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SSH_AUTH, _SSH_KEY = "kubernetes.io/ssh-auth", "ssh-privatekey"
_DOCKER_KEYS = {kind: keys for kind, keys in _SECRET_KEYS.items() if "docker" in kind}
_DEPRECATED = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}
_LEAST_SERIES = 2
_ACCOUNT_TOKEN, _BASIC_AUTH = "kubernetes.io/service-account-token", "kubernetes.io/basic-auth"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def _check_namespace(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for each in strings(struct(obj, "spec"), "finalizers"):
        causes += check_text(each, "spec.finalizers", qualified_name)
        if "/" not in each and each not in _NAMESPACE_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid("spec.finalizers", each, message))
        if are_enough(causes):
            break
    return causes


def _check_config_map(obj: JsonObject) -> list[Cause]:
    data, binary = struct(obj, "data"), struct(obj, "binaryData")
    causes: list[Cause] = []
    size = 0
    for name, member in (("data", data), ("binaryData", binary)):
        for key, value in member.items():
            causes += check_text(key, f"{name}[{key}]", config_key)
            if are_enough(causes):
                return causes
            size += _decoded_size(value) if name == "binaryData" else _size(value)
    causes += [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in data if key in binary]
    # Kubernetes reports the total size without a field.
    return [*causes, too_long("[]", _MAX_DATA_BYTES)] if size > _MAX_DATA_BYTES else causes


def _size(value: Json) -> int:
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value.encode())


def _decoded_size(value: Json) -> int:
    """How many bytes a base64 text holds."""
    return len(value) * 3 // 4 - value[-2:].count("=") if isinstance(value, str) else 0


def _check_secret(obj: JsonObject) -> list[Cause]:
    data = struct(obj, "data")
    causes: list[Cause] = []
    for key in data:
        causes += check_text(key, f"data[{key}]", config_key)
        if are_enough(causes):
            return causes
    if sum(_decoded_size(value) for value in data.values()) > _MAX_DATA_BYTES:
        causes.append(too_long("data", _MAX_DATA_BYTES))
    kind = text(obj, "type")
    causes += [required(f"data[{key}]") for key in _SECRET_KEYS.get(kind, ()) if key not in data]
    if kind == _SSH_AUTH and data.get(_SSH_KEY) == "":
        causes.append(required(f"data[{_SSH_KEY}]"))
    for key in _DOCKER_KEYS.get(kind, ()):
        if key in data and not _is_json(data[key]):
            causes.append(invalid(f"data[{key}]", "<secret contents redacted>", "must be valid JSON"))
    if kind == _BASIC_AUTH and "username" not in data and "password" not in data:
        causes += [required("data[username]"), required("data[password]")]
    if kind == _ACCOUNT_TOKEN and not text(struct(obj, "metadata", "annotations"), _ACCOUNT_NAME):
        causes.append(required(f"metadata.annotations[{_ACCOUNT_NAME}]"))
    return causes


def _is_json(value: Json) -> bool:
    """Whether a base64 text holds JSON; what is no base64 is refused elsewhere."""
    try:
        decode(b64decode(value)) if isinstance(value, str) else None
    except binascii.Error:
        return True
    except BadRequestError:
        return False
    return True


def _check_lease(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes: list[Cause] = []
    duration = spec.get("leaseDurationSeconds")
    if is_integer(duration) and spec["leaseDurationSeconds"] <= 0:
        causes.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    causes += check_counts(spec, "spec", "leaseTransitions")
    if spec.get("strategy") is not None and spec.get("holderIdentity") == "":
        causes.append(invalid("spec.holderIdentity", "", "must not be empty"))
    return causes


def _check_core_event(obj: JsonObject) -> list[Cause]:
    causes = _check_place(obj, "involvedObject")
    return causes + _check_reported(obj, "reportingComponent", "message") if obj.get("eventTime") else causes


def _check_place(obj: JsonObject, reference: str) -> list[Cause]:
    """An Event is where its object is; one with a time of its own may be elsewhere."""
    about, own = text(struct(obj, reference), "namespace"), text(struct(obj, "metadata"), "namespace")
    is_wrong = own != about and not obj.get("eventTime") if about else own not in ("", "default", "kube-system")
    return [invalid("involvedObject.namespace", about, "does not match event.namespace")] if is_wrong else []


def _check_reported(obj: JsonObject, controller: str, note: str) -> list[Cause]:
    """What an Event with a time of its own has to say; the two groups have two names for some of it."""
    causes = check_text(text(obj, controller), controller, qualified_name)
    if not text(obj, controller):
        causes.insert(0, required(controller))
    for name, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = text(obj, name)
        if not value:
            causes.append(required(name))
        elif len(value) > limit:
            causes.append(invalid(name, value, f"can have at most {limit} characters"))
    if len(text(obj, note)) > 1024:
        causes.append(invalid("message", text(obj, note), "can have at most 1024 characters"))
    return causes


def _check_event(obj: JsonObject) -> list[Cause]:
    """Kubernetes names fields of the old group in some of these."""
    causes = _check_place(obj, "regarding")
    if not obj.get("eventTime"):
        causes.append(required("eventTime"))
    causes += _check_reported(obj, "reportingController", "note")
    if text(obj, "type") not in ("Normal", "Warning"):
        causes.append(invalid("type", "", f"has invalid value: {text(obj, 'type')}"))
    series = obj.get("series")
    if isinstance(series, dict) and integer(series, "count") < _LEAST_SERIES:
        causes.append(invalid("series.count", "", f"should be at least {_LEAST_SERIES}"))
    if isinstance(series, dict) and not series.get("lastObservedTime"):
        causes.append(required("series.lastObservedTime"))
    return causes + [invalid(told, "", "needs to be unset") for name, told in _DEPRECATED.items() if obj.get(name)]


def _check_priority_class(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    name = text(struct(obj, "metadata"), "name")
    is_system = name.startswith("system-")
    if is_system and _SYSTEM_PRIORITIES.get(name) != integer(obj, "value"):
        message = "priority class names with 'system-' prefix are reserved for system use only"
        causes.append(forbidden("metadata.name", message))
    if integer(obj, "value") > _MAX_PRIORITY and not is_system:
        message = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        causes.append(forbidden("value", message))
    if obj.get("preemptionPolicy") == "":
        return [*causes, required("preemptionPolicy")]
    return causes + check_choice(obj, "preemptionPolicy", "", ("Never", "PreemptLowerPriority"))


CHECKS = {
    ("", "Namespace"): _check_namespace,
    ("", "ConfigMap"): _check_config_map,
    ("", "Secret"): _check_secret,
    ("", "Event"): _check_core_event,
    ("events.k8s.io", "Event"): _check_event,
    ("coordination.k8s.io", "Lease"): _check_lease,
    ("scheduling.k8s.io", "PriorityClass"): _check_priority_class,
}
