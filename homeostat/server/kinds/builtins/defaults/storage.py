"""Defaults of volumes, claims and storage classes."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults.pod import default_block_device
from homeostat.server.kinds.builtins.members import ensure_struct, set_default, struct


def default_phase(obj: JsonObject) -> None:
    if (status := ensure_struct(obj, "status")) is not None:
        set_default(status, "phase", "Pending")


def _default_volume(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None:
        set_default(spec, "persistentVolumeReclaimPolicy", "Retain")
        _default_mode(spec)
        if isinstance(path := spec.get("hostPath"), dict) and path.get("type") is None:
            path["type"] = ""
        default_block_device(spec)
    default_phase(obj)


def _default_mode(spec: JsonObject) -> None:
    """An empty mode stays empty, and is refused."""
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _default_claim(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None:
        _default_mode(spec)
    default_phase(obj)


_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""What `dataSource` may name in a new claim. Kubernetes drops others: for these there is the newer field."""


def normalize_claim(obj: JsonObject) -> None:
    """`dataSource` and the newer `dataSourceRef` say the same, unless the latter is of another namespace."""
    spec = struct(obj, "spec")
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if isinstance(old, dict) and new is None:
        spec["dataSourceRef"] = dict(old)
    elif isinstance(new, dict) and old is None and not new.get("namespace"):
        spec["dataSource"] = {name: value for name, value in new.items() if name != "namespace"}


def start_claim(obj: JsonObject) -> None:
    default_phase(obj)
    source = struct(obj, "spec").get("dataSource")
    if isinstance(source, dict) and (source.get("apiGroup") or "", source.get("kind")) not in _OLD_SOURCES:
        del obj["spec"]["dataSource"]
    normalize_claim(obj)


def default_claim_template(claim: JsonObject) -> None:
    """A StatefulSet's claim template, which Kubernetes writes as a whole object."""
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    _default_claim(claim)


def _default_storage_class(obj: JsonObject) -> None:
    for name, value in (("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")):
        if obj.get(name) is None:
            obj[name] = value


def _default_csi_driver(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    for name, value in _CSI_DRIVER.items():
        if spec.get(name) is None:
            spec[name] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


_CSI_DRIVER = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}

DEFAULTS = {
    ("", "PersistentVolume"): _default_volume,
    ("", "PersistentVolumeClaim"): _default_claim,
    ("storage.k8s.io", "StorageClass"): _default_storage_class,
    ("storage.k8s.io", "CSIDriver"): _default_csi_driver,
}
