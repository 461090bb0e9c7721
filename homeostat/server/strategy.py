"""Protects the fields that a write may not change. Pure.

The server owns uid, creationTimestamp, generation, deletionTimestamp and resourceVersion. With the status subresource
on, a main write cannot change status and a status write cannot change the spec; of a custom object it cannot change the
metadata either. `generation` counts changes of what is neither metadata nor status.
"""

from __future__ import annotations

import re

from homeostat.objects.errors import BadRequestError, Cause, ConflictError, forbidden, invalid, quoted
from homeostat.objects.json import JsonObject
from homeostat.objects.wire.typed import as_read
from homeostat.server.access.signers import APPROVAL, REQUESTS
from homeostat.server.kinds.builtins.immutable.pod_parts import POD_PARTS, take_part
from homeostat.server.kinds.registry import Kind

_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_OF_DELETION = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds"})
"""Only a deletion sets them: a write that has them too is refused, not corrected."""
_DAEMONS = "daemonsets.apps"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""Counts the templates of a DaemonSet; controllers copy it to a label of Pods."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64_MAX = 2**63 - 1
_DIGITS = 20
"""More than an int64 has; that many are enough to see that a number is out of range."""
_DECISIONS = ("Approved", "Denied")
_NOT_SPEC = frozenset({"apiVersion", "kind", "metadata", "status"})
_NEITHER_SPEC_NOR_STATUS = _NOT_SPEC - {"status"}


def prepare_create(kind: Kind, obj: JsonObject, *, uid: str, now: str) -> None:
    """Set the fields of a new object that the server owns."""
    metadata = obj["metadata"]
    for name in _SERVER_OWNED:
        metadata.pop(name, None)
    metadata.pop("resourceVersion", None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = now
    if kind.custom or kind.has_generation:
        metadata["generation"] = 1
    if kind.has_status and (kind.custom or kind.kind not in _KEEPS_STATUS):
        obj.pop("status", None)
    if kind.group_resource == _DAEMONS:
        _set_template_generation(metadata, max(_template_generation(metadata), 1))


_KEEPS_STATUS = frozenset({"Namespace", "CustomResourceDefinition", "Node", "PersistentVolume"})


def prepare_update(kind: Kind, new: JsonObject, old: JsonObject, subresource: str = "") -> None:
    """Restore the fields that a write may not change, and count the generation."""
    if subresource in POD_PARTS:
        take_part(subresource, new, old)
    metadata, former = new["metadata"], old["metadata"]
    for name in _SERVER_OWNED:
        if name in former:
            metadata[name] = former[name]
        elif name not in _OF_DELETION:
            metadata.pop(name, None)
    if kind.custom:
        if kind.has_status:
            _take(new, old, "status")
        if "generation" in former and spec_differs(kind, new, old):
            metadata["generation"] = former["generation"] + 1
    else:
        _prepare_builtin_update(kind, new, old, subresource)


def _prepare_builtin_update(kind: Kind, new: JsonObject, old: JsonObject, subresource: str) -> None:
    metadata, former = new["metadata"], old["metadata"]
    if kind.has_status and subresource == APPROVAL:
        conditions = (new.get("status") or {}).get("conditions") or []
        new["status"] = {**(old.get("status") or {}), "conditions": conditions}
    elif kind.has_status and subresource != "binding":
        _take(new, old, "status")
    if kind.group_resource == REQUESTS:
        _take(new, old, "spec")
    if kind.kind == "Namespace" and not kind.group and subresource != "finalize":
        _take(new, old, "spec")
    is_counted = ("generation" in former or kind.kind in _COUNTED_LATE) and kind.kind not in _COUNTED_ONCE
    if is_counted and subresource != "binding" and spec_differs(kind, new, old):
        metadata["generation"] = former.get("generation", 0) + 1
    if kind.group_resource == _DAEMONS:
        _template_generation(metadata)
        is_changed = (new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
        number = _former_template_generation(former) + is_changed
        _set_template_generation(metadata, min(max(number, 1), _INT64_MAX))


def check_template_generation(kind: Kind, obj: JsonObject) -> None:
    """`BadRequestError` for a DaemonSet whose template generation is not a number of 64 bits."""
    if kind.group_resource == _DAEMONS:
        _template_generation(obj["metadata"])


def _template_generation(metadata: JsonObject) -> int:
    """`BadRequestError` if it is not a number of 64 bits."""
    given = (metadata.get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    if not _INTEGER.fullmatch(given):
        raise _unreadable(given, "invalid syntax")
    digits = given.lstrip("+-").lstrip("0")[:_DIGITS]
    number = int(f"-0{digits}" if given[0] == "-" else f"0{digits}")
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        raise _unreadable(given, "value out of range")
    return number


def _unreadable(given: str, reason: str) -> BadRequestError:
    problem = f"strconv.ParseInt: parsing {quoted(given)}: {reason}"
    return BadRequestError(f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {problem}')


def _former_template_generation(metadata: JsonObject) -> int:
    """A stored one that cannot be read must not keep its object from being changed."""
    try:
        return _template_generation(metadata)
    except BadRequestError:
        return 0


def _set_template_generation(metadata: JsonObject, number: int) -> None:
    metadata["annotations"] = {**(metadata.get("annotations") or {}), _TEMPLATE_GENERATION: str(number)}


_COUNTED_LATE = frozenset({"CSIDriver"})
"""Kinds whose generation is absent until the first change."""
_COUNTED_ONCE = frozenset({"PriorityClass"})
"""Kinds whose generation is always 1."""
_COUNTED_METADATA = {("apps", "Deployment"): "annotations", ("discovery.k8s.io", "EndpointSlice"): "labels"}
"""Metadata whose changes count as a new generation too."""
_STATUS_ONLY = frozenset(
    {
        "servicecidrs.networking.k8s.io",
        "volumeattachments.storage.k8s.io",
        "resourceclaims.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
    }
)
"""Built-in kinds whose status writes change no metadata, as for custom kinds."""
_KEPT_BY_STATUS = {("apps", "Deployment"): ("labels",), ("", "Pod"): ("ownerReferences",)}
"""Metadata that a status write cannot change, of built-in kinds."""


def prepare_status_update(kind: Kind, new: JsonObject, old: JsonObject) -> JsonObject:
    """The old object with the new status and managed fields, and the new metadata if the kind is built in."""
    merged = dict(old)
    if kind.custom or kind.group_resource in _STATUS_ONLY:
        merged["metadata"] = metadata = dict(old["metadata"])
        if "managedFields" in new["metadata"]:
            metadata["managedFields"] = new["metadata"]["managedFields"]
    else:
        merged["metadata"] = metadata = dict(new["metadata"])
        for name in (*_SERVER_OWNED, *_KEPT_BY_STATUS.get((kind.group, kind.kind), ())):
            if name in old["metadata"] or name not in _OF_DELETION:
                _take(metadata, old["metadata"], name)
        if kind.group_resource == _DAEMONS:
            _set_template_generation(metadata, max(_template_generation(old["metadata"]), 1))
    _take(merged, new, "status")
    if kind.group_resource == REQUESTS and merged.get("status"):
        merged["status"] = _with_decision(merged["status"], old.get("status") or {})
    return merged


def _with_decision(status: JsonObject, old: JsonObject) -> JsonObject:
    """A request's status with the stored conditions of its approval, where it has them at all."""
    decided = {each["type"]: each for each in old.get("conditions") or () if each["type"] in _DECISIONS}
    conditions = [decided.get(each.get("type"), each) for each in status.get("conditions") or ()]
    return {**status, "conditions": conditions} if conditions else status


def approval_causes(kind: Kind, new: JsonObject, old: JsonObject) -> list[Cause]:
    """A write of the status cannot approve or deny a request."""
    if kind.group_resource != REQUESTS:
        return []
    before = {each["type"] for each in (old.get("status") or {}).get("conditions") or ()}
    after = {each.get("type") for each in (new.get("status") or {}).get("conditions") or ()}
    return [
        forbidden("status.conditions", f'updates may not add a condition of type "{each}"')
        for each in _DECISIONS
        if each in after - before
    ]


_NOT_NOTED = frozenset({"managedFields", "resourceVersion"})


def is_metadata_changed(new: JsonObject, old: JsonObject) -> bool:
    """Whether more of the metadata changed than every write changes."""
    metadata, former = new["metadata"], old["metadata"]
    return any(metadata.get(name) != former.get(name) for name in {*metadata, *former} - _NOT_NOTED)


def _take(target: JsonObject, source: JsonObject, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def spec_differs(kind: Kind, new: JsonObject, old: JsonObject) -> bool:
    """Whether anything but metadata changed; nor does status count, if it is a subresource or the kind is built in."""
    ignored = _NOT_SPEC if kind.has_status or not kind.custom else _NEITHER_SPEC_NOR_STATUS
    if kind.custom:
        return _differs(new, old, ignored)
    if counted := _COUNTED_METADATA.get((kind.group, kind.kind)):
        before, after = (each["metadata"].get(counted) or {} for each in (old, new))
        if before != after:
            return True
    return _differs(new, old, ignored) and _differs(new, as_read(old, kind.behaviour.schema), ignored)


def _differs(new: JsonObject, old: JsonObject, ignored: frozenset[str]) -> bool:
    for name, value in new.items():
        if name not in ignored and value != old.get(name):
            return True
    return any(old[name] is not None for name in old.keys() - new.keys() if name not in ignored)


def check_preconditions(kind: Kind, new: JsonObject, old: JsonObject) -> list[Cause]:
    """The uid and resourceVersion that a client sent must be the stored ones, else `ConflictError`."""
    metadata, former = new["metadata"], old["metadata"]
    name = former["name"]
    uid = metadata.get("uid")
    if uid and uid != former["uid"]:
        raise unmet_precondition(kind, name, "UID", uid, former["uid"])
    version = metadata.get("resourceVersion")
    if not version or version == "0":
        if kind.unconditional_update and not kind.custom:
            return []
        return [
            Cause(
                "FieldValueInvalid", "Invalid value: 0x0: must be specified for an update", "metadata.resourceVersion"
            )
        ]
    if not isinstance(version, str) or not version.isdecimal():
        return [invalid("metadata.resourceVersion", version, "must be a decimal number")]
    if version != former["resourceVersion"]:
        raise stale(kind, name)
    return []


def stale(kind: Kind, name: str) -> ConflictError:
    reason = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, reason)


def unmet_precondition(kind: Kind, name: str, field: str, wanted: str, found: str) -> ConflictError:
    reason = f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}"
    return conflict(kind, name, reason)


def conflict(kind: Kind, name: str, reason: str) -> ConflictError:
    return ConflictError(
        f'Operation cannot be fulfilled on {kind.group_resource} "{name}": {reason}',
        kind=kind.plural,
        group=kind.group,
        name=name,
    )
