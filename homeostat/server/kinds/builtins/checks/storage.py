"""What volumes, claims and storage classes may look like."""

from __future__ import annotations

from posixpath import normpath

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.checks.pods.affinity import check_node_term
from homeostat.server.kinds.builtins.checks.pods.source import PERSISTENT, check_sources, source_of
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_duplicates,
    check_quantity,
    check_required,
    check_text,
    quantity_of,
)

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_MODES = ("Block", "Filesystem")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


def check_access_modes(spec: JsonObject, path: str, message: str = "") -> list[Cause]:
    modes = strings(spec, "accessModes")
    if not modes:
        return [required(f"{path}.accessModes", message)]
    causes = [unsupported(f"{path}.accessModes", each, _ACCESS_MODES) for each in modes if each not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        causes.append(forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    return causes


def _check_volume(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_access_modes(spec, "spec")
    capacity = struct(spec, "capacity")
    if not capacity:
        causes.append(required("spec.capacity"))
    if "storage" not in capacity or len(capacity) > 1:
        causes.append(unsupported("spec.capacity", sorted(capacity), ["storage"]))
    for name, value in capacity.items():
        causes += check_quantity(value, f"spec.capacity[{name}]") or _check_positive(value, f"spec.capacity[{name}]")
    causes += check_choice(spec, "persistentVolumeReclaimPolicy", "spec", _RECLAIM_POLICIES)
    causes += check_choice(spec, "volumeMode", "spec", _MODES)
    causes += check_sources(spec, "spec", PERSISTENT)
    causes += _check_affinity(spec) + _check_class_name(spec, "spec")
    path = text(struct(spec, "hostPath"), "path")
    if path and normpath(path) in ("/", "//") and text(spec, "persistentVolumeReclaimPolicy") == "Recycle":
        message = "may not be 'recycle' for a hostPath mount of '/'"
        causes.append(forbidden("spec.persistentVolumeReclaimPolicy", message))
    return causes + _check_attributes(spec)


def _check_positive(value: Json, path: str) -> list[Cause]:
    amount = quantity_of(value)
    return [] if amount is None or amount.nanos > 0 else [invalid(path, str(amount), "must be greater than zero")]


def _check_affinity(spec: JsonObject) -> list[Cause]:
    """Where a volume can be reached; one of a Node's own disk has to say so."""
    affinity, at = spec.get("nodeAffinity"), "spec.nodeAffinity"
    causes: list[Cause] = []
    is_given = False
    if isinstance(affinity, dict):
        needed = affinity.get("required")
        is_given = isinstance(needed, dict)
        if not is_given:
            causes.append(required(f"{at}.required", "must specify required node constraints"))
        elif not items(struct(needed), "nodeSelectorTerms"):
            message = "must have at least one node selector term"
            causes.append(required(f"{at}.required.nodeSelectorTerms", message))
        for term_at, term in numbered(struct(needed), "nodeSelectorTerms", f"{at}.required"):
            causes += check_node_term(term, term_at)
    if not is_given and source_of(spec, PERSISTENT) == "local":
        causes.append(required(at, "Local volume requires node affinity"))
    return causes


def _check_attributes(spec: JsonObject) -> list[Cause]:
    name, at = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if not isinstance(name, str):
        return []
    causes = check_text(name, at, dns1123_subdomain) if name else [required(at, "an empty string is disallowed")]
    if spec.get("csi") is None:
        causes.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return causes


def _check_class_name(spec: JsonObject, path: str) -> list[Cause]:
    name = text(spec, "storageClassName")
    return check_text(name, f"{path}.storageClassName", dns1123_subdomain) if name else []


def _check_claim(obj: JsonObject) -> list[Cause]:
    return check_claim_spec(struct(obj, "spec"), "spec")


def check_claim_spec(spec: JsonObject, path: str) -> list[Cause]:
    causes = check_access_modes(spec, path, "at least 1 access mode is required")
    if isinstance(selector := spec.get("selector"), dict):
        causes += check_selector(selector, f"{path}.selector")
    requests = struct(spec, "resources", "requests")
    at = f"{path}.resources[storage]"
    causes += _check_positive(requests["storage"], at) if "storage" in requests else [required(at)]
    causes += check_choice(spec, "volumeMode", path, _MODES)
    causes += _check_data_sources(spec, path)
    if name := text(spec, "volumeAttributesClassName"):
        causes += check_text(name, f"{path}.volumeAttributesClassName", dns1123_subdomain)
    return causes + _check_class_name(spec, path)


def _check_data_sources(spec: JsonObject, path: str) -> list[Cause]:
    """What a claim is filled from: `dataSource`, and `dataSourceRef`, which says the same or names a namespace."""
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    causes: list[Cause] = []
    for name, source in (("dataSource", old), ("dataSourceRef", new)):
        if isinstance(source, dict):
            causes += _check_data_source(source, f"{path}.{name}")
    if namespace := text(struct(new), "namespace"):
        causes += check_text(namespace, f"{path}.dataSourceRef.namespace", dns1123_label)
        if old is not None:
            causes.append(invalid(path, "dataSource", "may not be specified when dataSourceRef.namespace is specified"))
    elif isinstance(old, dict) and isinstance(new, dict) and _named(old) != _named(new):
        causes.append(invalid(path, "dataSource", "must match dataSourceRef"))
    return causes


def _named(source: JsonObject) -> list[Json]:
    return [source.get(name) for name in ("apiGroup", "kind", "name")]


def _check_data_source(source: JsonObject, path: str) -> list[Cause]:
    causes = check_required(source, "name", path) + check_required(source, "kind", path)
    if group := text(source, "apiGroup"):
        causes += check_text(group, f"{path}.apiGroup", dns1123_subdomain)
    elif text(source, "kind") != "PersistentVolumeClaim":
        message = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        causes.append(invalid(path, text(source, "kind"), message))
    return causes


def _check_storage_class(obj: JsonObject) -> list[Cause]:
    provisioner = text(obj, "provisioner")
    causes = (
        check_text(provisioner.lower(), "provisioner", qualified_name) if provisioner else [required("provisioner")]
    )
    if text(obj, "reclaimPolicy"):
        causes += check_choice(obj, "reclaimPolicy", "", ("Delete", "Retain"))
    causes += check_choice(obj, "volumeBindingMode", "", _BINDING_MODES)
    causes += [invalid("parameters", key, "field can not be empty.") for key in struct(obj, "parameters") if not key]
    seen: set[_Topology] = {frozenset()}
    for at, term in numbered(obj, "allowedTopologies", ""):
        values, found = _check_topology(term, at)
        causes += found
        if values in seen:
            causes.append(duplicate(f"{at}.matchLabelExpressions", ""))
        seen.add(values)
    return causes


_Topology = frozenset[tuple[str, frozenset[str]]]


def _check_topology(term: JsonObject, path: str) -> tuple[_Topology, list[Cause]]:
    """The values of a term by key, and what is wrong with it."""
    found: dict[str, frozenset[str]] = {}
    causes: list[Cause] = []
    for at, each in numbered(term, "matchLabelExpressions", path):
        key, values = text(each, "key"), strings(each, "values")
        if not values:
            causes.append(required(f"{at}.values"))
        causes += check_duplicates(values, f"{at}.values")
        causes += check_text(key, f"{at}.key", qualified_name)
        if key in found:
            causes.append(duplicate(f"{at}.key", key))
        found[key] = frozenset(values)
    return frozenset(found.items()), causes


CHECKS = {
    ("", "PersistentVolume"): _check_volume,
    ("", "PersistentVolumeClaim"): _check_claim,
    ("storage.k8s.io", "StorageClass"): _check_storage_class,
}
