"""The columns of volumes, claims, storage classes and the CSI kinds."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    Printer,
    age_of,
    count,
    flag,
    is_terminating,
    name_of,
    shown,
    wide,
)
from homeostat.server.kinds.builtins.members import items, strings, struct, structs, text

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"


def _access_modes(holder: JsonObject) -> str:
    modes = strings(holder, "accessModes")
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _class_of(obj: JsonObject) -> str:
    legacy = text(struct(obj, "metadata", "annotations"), _LEGACY_CLASS)
    return legacy or text(struct(obj, "spec"), "storageClassName")


def _volume(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    claim = struct(spec, "claimRef")
    return [
        name_of(obj),
        str(struct(spec, "capacity").get("storage", "0")),
        _access_modes(spec),
        text(spec, "persistentVolumeReclaimPolicy"),
        "Terminating" if is_terminating(obj) else text(status, "phase"),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        _class_of(obj),
        text(spec, "volumeAttributesClassName") or UNSET,
        text(status, "reason"),
        age_of(obj),
        text(spec, "volumeMode") or UNSET,
    ]


def _claim(obj: JsonObject) -> list[Cell]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    volume = text(spec, "volumeName")
    return [
        name_of(obj),
        "Terminating" if is_terminating(obj) else text(status, "phase"),
        volume,
        str(struct(status, "capacity").get("storage", "0")) if volume else "",
        _access_modes(status) if volume else "",
        _class_of(obj),
        text(spec, "volumeAttributesClassName") or UNSET,
        age_of(obj),
        text(spec, "volumeMode") or UNSET,
    ]


def _storage_class(obj: JsonObject) -> list[Cell]:
    annotations = struct(obj, "metadata", "annotations")
    is_default = any(annotations.get(each) == "true" for each in _DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy") or "Delete",
        text(obj, "volumeBindingMode") or "Immediate",
        obj.get("allowVolumeExpansion") is True,
        age_of(obj),
    ]


def _attachment(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    return [
        name_of(obj),
        text(spec, "attacher"),
        text(struct(spec, "source"), "persistentVolumeName"),
        text(spec, "nodeName"),
        struct(obj, "status").get("attached") is True,
        age_of(obj),
    ]


def _csi_driver(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    audiences = [text(each, "audience") for each in structs(spec, "tokenRequests")]
    return [
        name_of(obj),
        spec.get("attachRequired") is not False,
        spec.get("podInfoOnMount") is True,
        spec.get("storageCapacity") is True,
        UNSET if spec.get("tokenRequests") is None else ",".join(audiences),
        spec.get("requiresRepublish") is True,
        ",".join(strings(spec, "volumeLifecycleModes")) or NONE,
        age_of(obj),
    ]


def _csi_node(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(items(struct(obj, "spec"), "drivers")), age_of(obj)]


def _attributes_class(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), text(obj, "driverName"), age_of(obj)]


_STORAGE = "storage.k8s.io"
_MODE = wide("VolumeMode", "Whether it is a file system or a block device.")

PRINTERS = {
    ("", "PersistentVolume"): Printer(
        (
            NAME,
            shown("Capacity"),
            shown("Access Modes"),
            shown("Reclaim Policy"),
            shown("Status"),
            shown("Claim", "The claim that it is bound to."),
            shown("StorageClass"),
            shown("VolumeAttributesClass"),
            shown("Reason"),
            AGE,
            _MODE,
        ),
        _volume,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        (
            NAME,
            shown("Status"),
            shown("Volume", "The volume that it is bound to."),
            shown("Capacity"),
            shown("Access Modes"),
            shown("StorageClass"),
            shown("VolumeAttributesClass"),
            AGE,
            _MODE,
        ),
        _claim,
    ),
    (_STORAGE, "StorageClass"): Printer(
        (
            NAME,
            shown("Provisioner"),
            shown("ReclaimPolicy"),
            shown("VolumeBindingMode"),
            shown("AllowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
    (_STORAGE, "VolumeAttachment"): Printer(
        (NAME, Column("Attacher", format="name"), shown("PV"), shown("Node"), flag("Attached"), AGE), _attachment
    ),
    (_STORAGE, "CSIDriver"): Printer(
        (
            NAME,
            flag("AttachRequired"),
            flag("PodInfoOnMount"),
            flag("StorageCapacity"),
            shown("TokenRequests"),
            flag("RequiresRepublish"),
            shown("Modes"),
            AGE,
        ),
        _csi_driver,
    ),
    (_STORAGE, "CSINode"): Printer((NAME, count("Drivers", "How many drivers the node has."), AGE), _csi_node),
    (_STORAGE, "VolumeAttributesClass"): Printer((NAME, shown("DriverName"), AGE), _attributes_class),
}
