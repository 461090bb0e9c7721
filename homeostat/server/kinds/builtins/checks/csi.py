"""What the CSI kinds, VolumeAttachments and VolumeAttributesClasses may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, duplicate, forbidden, invalid, required, too_long, unsupported
from homeostat.objects.identifiers import Messages, dns1123_subdomain, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.source import PERSISTENT, check_sources
from homeostat.server.kinds.builtins.checks.storage import check_access_modes
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import integer, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_counts,
    check_quantity,
    check_required,
    check_text,
    is_integer,
)

_MAX_DRIVER_NAME = 63
_MAX_NODE_ID_BYTES = 256
_MAX_PARAMETERS, _MAX_PARAMETERS_BYTES = 512, 256 * 1024
_MAX_ATTACHMENT_BYTES = 256 * 1024
_MIN_TOKEN_SECONDS, _MAX_TOKEN_SECONDS = 600, 1 << 32
_MIN_REFRESH_SECONDS = 10
_LIFECYCLE_MODES = ("Ephemeral", "Persistent")
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_NOT_INLINE = "may not be specified in the context of inline volumes"
_OF_CLAIMS = (
    *("claimRef", "capacity", "storageClassName", "volumeMode", "nodeAffinity"),
    "volumeAttributesClassName",
)
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def driver_name(value: str) -> Messages:
    """A CSI driver's name is a DNS subdomain in any case, and short enough for a label."""
    messages = [f"must be no more than {_MAX_DRIVER_NAME} bytes"] if len(value) > _MAX_DRIVER_NAME else []
    return messages + dns1123_subdomain(value.lower())


def _check_driver(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_choice(spec, "fsGroupPolicy", "spec", _GROUP_POLICIES)
    audiences: set[str] = set()
    for at, request in numbered(spec, "tokenRequests", "spec"):
        audience, seconds = text(request, "audience"), request.get("expirationSeconds")
        if audience in audiences:
            causes.append(duplicate(f"{at}.audience", audience))
        elif is_integer(seconds) and integer(request, "expirationSeconds") < _MIN_TOKEN_SECONDS:
            message = "may not specify a duration less than 10 minutes"
            causes.append(invalid(f"{at}.expirationSeconds", seconds, message))
        elif is_integer(seconds) and integer(request, "expirationSeconds") > _MAX_TOKEN_SECONDS:
            message = "may not specify a duration larger than 2^32 seconds"
            causes.append(invalid(f"{at}.expirationSeconds", seconds, message))
        audiences.add(audience)
    causes += [
        unsupported("spec.volumeLifecycleModes", each, _LIFECYCLE_MODES)
        for each in strings(spec, "volumeLifecycleModes")
        if each not in _LIFECYCLE_MODES
    ]
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if is_integer(period) and integer(spec, "nodeAllocatableUpdatePeriodSeconds") < _MIN_REFRESH_SECONDS:
        message = "must be greater than or equal to 10 seconds"
        causes.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, message))
    return causes


def _check_node(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for at, driver in numbered(struct(obj, "spec"), "drivers", "spec"):
        name, node = text(driver, "name"), text(driver, "nodeID")
        causes += check_required(driver, "name", at, driver_name)
        causes += check_required(driver, "nodeID", at)
        if len(node.encode()) > _MAX_NODE_ID_BYTES:
            causes.append(invalid(f"{at}.nodeID", node, f"must be {_MAX_NODE_ID_BYTES} characters or less"))
        causes += check_counts(struct(driver, "allocatable"), f"{at}.allocatable", "count")
        if name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        causes += _check_topology(strings(driver, "topologyKeys"), at)
        if are_enough(causes):
            break
    return causes


def _check_topology(keys: list[str], path: str) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for key in keys:
        if not key:
            causes.append(required(path))
        if key in seen:
            causes.append(duplicate(path, key))
        seen.add(key)
        causes += check_text(key, path, qualified_name)
    return causes


def _check_attachment(obj: JsonObject) -> list[Cause]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    causes = check_required(spec, "attacher", "spec", driver_name)
    source = struct(spec, "source")
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if volume is None and inline is None:
        causes.append(required("spec.source", _ONE_SOURCE))
    elif volume is not None and inline is not None:
        causes.append(forbidden("spec.source", _ONE_SOURCE))
    elif volume is not None:
        causes += check_required(source, "persistentVolumeName", "spec.source", dns1123_subdomain)
    else:
        causes += _check_inline(struct(inline), "spec.source.inlineVolumeSpec")
    causes += check_text(text(spec, "nodeName"), "spec.nodeName", dns1123_subdomain)
    told = struct(status, "attachmentMetadata")
    if _size(told) > _MAX_ATTACHMENT_BYTES:
        causes.append(too_long("status.attachmentMetadata", _MAX_ATTACHMENT_BYTES))
    return causes


def _check_inline(spec: JsonObject, path: str) -> list[Cause]:
    """A volume that nothing but the attachment knows: no claim can be bound to it."""
    causes = [forbidden(f"{path}.{name}", _NOT_INLINE) for name in _OF_CLAIMS if spec.get(name)]
    if spec.get("csi") is None:
        causes.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    return causes + check_access_modes(spec, path) + check_sources(spec, path, PERSISTENT)


def _size(values: JsonObject) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in values.items() if isinstance(value, str))


def _check_capacity(obj: JsonObject) -> list[Cause]:
    causes = check_selector(obj.get("nodeTopology"), "nodeTopology")
    causes += check_text(text(obj, "storageClassName"), "storageClassName", dns1123_subdomain)
    return causes + check_quantity(obj.get("capacity"), "capacity")


def _check_attributes_class(obj: JsonObject) -> list[Cause]:
    name = text(obj, "driverName")
    causes = check_text(name.lower(), "driverName", qualified_name) if name else [required("driverName")]
    parameters = struct(obj, "parameters")
    if not parameters:
        causes.append(required("parameters", "must contain at least one key/value pair"))
    elif len(parameters) > _MAX_PARAMETERS:
        causes.append(too_long("parameters", _MAX_PARAMETERS))
    else:
        if "" in parameters:
            causes.append(invalid("parameters", "", "field can not be empty."))
        if _size(parameters) > _MAX_PARAMETERS_BYTES:
            causes.append(too_long("parameters", _MAX_PARAMETERS_BYTES))
    return causes


_GROUP = "storage.k8s.io"
CHECKS = {
    (_GROUP, "CSIDriver"): _check_driver,
    (_GROUP, "CSINode"): _check_node,
    (_GROUP, "CSIStorageCapacity"): _check_capacity,
    (_GROUP, "VolumeAttachment"): _check_attachment,
    (_GROUP, "VolumeAttributesClass"): _check_attributes_class,
}
