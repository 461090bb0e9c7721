"""Larger claims: only a bound claim may grow, and only if its StorageClass allows it."""

from __future__ import annotations

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.admission.plugins.default_class import STORAGE_CLASSES
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.server.kinds.builtins.value import quantity_of
from homeostat.server.request.call import Call
from homeostat.store.base import Key

CLAIMS = "persistentvolumeclaims"
_LEGACY = "volume.beta.kubernetes.io/storage-class"
_UNSUPPORTED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def require_growth(call: Call, claim: JsonObject, old: JsonObject) -> None:
    """403 for a changed claim that must not be as large as it wants to be."""
    wanted, had = (quantity_of(struct(each, "spec", "resources", "requests").get("storage")) for each in (claim, old))
    if wanted is None or had is None or not wanted > had:
        return
    name = claim["metadata"]["name"]
    if text(struct(old, "status"), "phase") != "Bound":
        raise call.forbidden("Only bound persistent volume claims can be expanded", name)
    if not _is_allowed(call, _class_of(claim), _class_of(old)):
        raise call.forbidden(_UNSUPPORTED, name)


def _class_of(claim: JsonObject) -> str:
    legacy = struct(claim, "metadata", "annotations").get(_LEGACY)
    return legacy if isinstance(legacy, str) else text(struct(claim, "spec"), "storageClassName")


def _is_allowed(call: Call, class_: str, former: str) -> bool:
    record = call.store.get(Key(STORAGE_CLASSES, "", class_)) if class_ and class_ == former else None
    return record is not None and decode_stored(record.value).get("allowVolumeExpansion") is True
