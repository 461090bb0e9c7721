"""What volumes, claims and storage classes may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.immutable.kinds import VOLUME_FIELDS
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import strings, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_quantities, check_text, quantity_of

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_MODES = ("Block", "Filesystem")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


def _check_access_modes(spec: JsonObject, path: str, message: str = "") -> list[Cause]:
    modes = strings(spec, "accessModes")
    if not modes:
        return [required(f"{path}.accessModes", message)]
    causes = [unsupported(f"{path}.accessModes", each, _ACCESS_MODES) for each in modes if each not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        causes.append(forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    return causes


def _check_volume(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = _check_access_modes(spec, "spec")
    capacity = struct(spec, "capacity")
    if not capacity:
        causes.append(required("spec.capacity"))
    elif "storage" not in capacity or len(capacity) > 1:
        causes.append(unsupported("spec.capacity", sorted(capacity), ["storage"]))
    causes += check_quantities(capacity, "spec.capacity")
    causes += check_choice(spec, "persistentVolumeReclaimPolicy", "spec", _RECLAIM_POLICIES)
    causes += check_choice(spec, "volumeMode", "spec", _MODES)
    sources = [name for name, value in spec.items() if name not in VOLUME_FIELDS and isinstance(value, dict)]
    if not sources:
        causes.append(required("spec", "must specify a volume type"))
    causes += [forbidden(f"spec.{each}", "may not specify more than 1 volume type") for each in sources[1:]]
    return causes + _check_class_name(spec, "spec")


def _check_class_name(spec: JsonObject, path: str) -> list[Cause]:
    name = text(spec, "storageClassName")
    return check_text(name, f"{path}.storageClassName", dns1123_subdomain) if name else []


def _check_claim(obj: JsonObject) -> list[Cause]:
    return check_claim_spec(struct(obj, "spec"), "spec")


def check_claim_spec(spec: JsonObject, path: str) -> list[Cause]:
    causes = _check_access_modes(spec, path, "at least 1 access mode is required")
    if isinstance(selector := spec.get("selector"), dict):
        causes += check_selector(selector, f"{path}.selector")
    requests = struct(spec, "resources", "requests")
    at = f"{path}.resources[storage]"
    if "storage" not in requests:
        causes.append(required(at))
    else:
        causes += check_quantities(requests, f"{path}.resources.requests")
        amount = quantity_of(requests["storage"])
        if amount is not None and amount.nanos == 0:
            causes.append(invalid(at, str(amount), "must be greater than zero"))
    causes += check_choice(spec, "volumeMode", path, _MODES)
    return causes + _check_class_name(spec, path)


def _check_storage_class(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    if not text(obj, "provisioner"):
        causes.append(required("provisioner"))
    causes += check_choice(obj, "reclaimPolicy", "", ("Delete", "Retain"))
    causes += check_choice(obj, "volumeBindingMode", "", _BINDING_MODES)
    causes += [required(f"parameters.{key}") for key in struct(obj, "parameters") if not key]
    return causes


CHECKS = {
    ("", "PersistentVolume"): _check_volume,
    ("", "PersistentVolumeClaim"): _check_claim,
    ("storage.k8s.io", "StorageClass"): _check_storage_class,
}
