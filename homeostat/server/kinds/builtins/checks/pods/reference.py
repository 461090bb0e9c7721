"""References to fields and resources of a pod, from its environment and from its files."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid, required, unsupported
from homeostat.objects.identifiers import qualified_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import text
from homeostat.server.kinds.builtins.value import check_text, quantity_of

ENV_FIELDS = frozenset(
    [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ]
)
FILE_FIELDS = frozenset(
    ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"]
)
_OTHER_FIELDS = frozenset(
    [
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.hostNetwork",
        "status.phase",
        "status.nominatedNodeName",
    ]
)
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTES = frozenset(["1", "1k", "1Ki", *(f"1{unit}{binary}" for unit in "MGTPE" for binary in ("", "i"))])
_DIVISORS = {"cpu": frozenset(["1m", "1"]), "memory": _BYTES, "ephemeral-storage": _BYTES}


def check_field(reference: JsonObject, path: str, known: frozenset[str]) -> list[Cause]:
    """A `fieldRef`; `known` has the fields that may be referred to without a subscript."""
    version, field = text(reference, "apiVersion"), text(reference, "fieldPath")
    if not version:
        return [required(f"{path}.apiVersion")]
    at = f"{path}.fieldPath"
    if not field:
        return [required(at)]
    if version != "v1":
        message = f"error converting fieldPath: unsupported pod version: {version}"
        return [invalid(at, field, message)]
    # Not with a pattern: one that looks for the bracket everywhere takes quadratic time.
    name, bracket, key = field.removesuffix("']").partition("['")
    if name and bracket and field.endswith("']"):
        return _check_subscript(name, key, field, path)
    if field in known:
        return []
    if field in _OTHER_FIELDS | ENV_FIELDS | FILE_FIELDS:
        return [unsupported(at, field, known)]
    return [invalid(at, field, f"error converting fieldPath: field label not supported: {field}")]


def _check_subscript(name: str, key: str, field: str, path: str) -> list[Cause]:
    if name not in ("metadata.annotations", "metadata.labels"):
        message = f"error converting fieldPath: field label does not support subscript: {field}"
        return [invalid(f"{path}.fieldPath", field, message)]
    return check_text(key.lower() if name == "metadata.annotations" else key, path, qualified_name)


def check_resource_field(reference: JsonObject, path: str, *, names_container: bool = False) -> list[Cause]:
    """A `resourceFieldRef`; files have to name the container, `names_container` says."""
    resource = text(reference, "resource")
    causes: list[Cause] = []
    if names_container and not text(reference, "containerName"):
        causes.append(required(f"{path}.containerName"))
    elif not resource:
        causes.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_PAGES):
        causes.append(unsupported(f"{path}.resource", resource, _RESOURCES))
    return causes + _check_divisor(resource, reference, f"{path}.divisor")


def _check_divisor(resource: str, reference: JsonObject, path: str) -> list[Cause]:
    divisor = quantity_of(reference.get("divisor"))
    if divisor is None or not divisor.nanos:
        return []
    known = _BYTES if resource.startswith(_PAGES) else _DIVISORS.get(resource.partition(".")[2])
    if known is None or str(divisor) in known or (resource not in _RESOURCES and known is not _BYTES):
        return []
    name = resource.partition(".")[2]
    return [invalid(path, resource, f"only divisor's values {', '.join(sorted(known))} are supported with {name}")]
